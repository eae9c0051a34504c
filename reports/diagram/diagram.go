// Package diagram lays out directed graphs in layers: the nodes of a layer stand side by side, edges lead to later layers, and the
// order within a layer is one in which few edges cross. It draws nothing.
//
// It is Sugiyama's method: cycles are broken, a node's layer is the longest way to it, edges over several layers get a bend in each,
// barycentres improve the order within layers, and a node stands as near to the middle of its neighbours as its layer allows. The same graph has
// the same layout. Any input is accepted: what exceeds the bounds is left out.
package diagram

import (
	"cmp"
	"math"
	"slices"
)

// Graph has nodes with their sizes, and edges between them.
type Graph struct {
	Sizes []Size
	Edges []Edge
}

// Size is that of a node's box.
type Size struct{ W, H float64 }

// Edge leads from a node to another, by index.
type Edge struct{ From, To int }

// Options are the distances between what is drawn.
type Options struct {
	// Across has the layers from left to right, otherwise from top to bottom.
	Across bool
	// Layers is the distance of layers, Nodes that of neighbours in a layer.
	Layers, Nodes float64
}

// Layout has positions in a plane whose y axis points down, from 0 to W and H.
type Layout struct {
	W, H  float64
	Boxes []Box
	// Lines has the bends of each edge, from the box of its beginning to that of its end, in the direction of the edge. An edge that
	// is left out has none.
	Lines [][]Point
	// Layer is that of each node.
	Layer []int
}

// Box is a node: its middle, and its size.
type Box struct{ X, Y, W, H float64 }

// Point is a place.
type Point struct{ X, Y float64 }

// The bounds of a graph.
const (
	NodesMost = 200
	EdgesMost = 600
)

const sweeps = 12

// item is a node, or the bend of an edge in a layer.
type item struct {
	layer    int
	node     int // or -1
	size     float64
	up, down []int // neighbours, by index of items
	at       float64
}

type layout struct {
	g      Graph
	o      Options
	layer  []int
	items  []item
	layers [][]int
	bends  [][]int // of each edge, from the earlier layer to the later
	turned []bool
}

// Lay lays out a graph.
func Lay(g Graph, o Options) Layout {
	g.Sizes = slices.Clone(g.Sizes[:min(len(g.Sizes), NodesMost)])
	for i, s := range g.Sizes {
		g.Sizes[i] = Size{sane(s.W), sane(s.H)}
	}
	o.Layers, o.Nodes = sane(o.Layers), sane(o.Nodes)
	l := &layout{g: g, o: o, bends: make([][]int, len(g.Edges)), turned: make([]bool, len(g.Edges))}
	l.breakCycles()
	l.assignLayers()
	l.addItems()
	l.order()
	l.place()
	return l.result()
}

func sane(v float64) float64 {
	if !(v > 0) || v > 1e6 {
		return 1
	}
	return v
}

func (l *layout) known(i int) bool {
	e := l.g.Edges[i]
	return i < EdgesMost && min(e.From, e.To) >= 0 && max(e.From, e.To) < len(l.g.Sizes)
}

// breakCycles turns the edges that lead back to a node on the way to them.
func (l *layout) breakCycles() {
	out := make([][]int, len(l.g.Sizes))
	for i, e := range l.g.Edges {
		if l.known(i) {
			out[e.From] = append(out[e.From], i)
		}
	}
	const (
		fresh = iota
		open
		done
	)
	state := make([]int, len(l.g.Sizes))
	var visit func(n int)
	visit = func(n int) {
		state[n] = open
		for _, i := range out[n] {
			switch to := l.g.Edges[i].To; state[to] {
			case open:
				l.turned[i] = true
			case fresh:
				visit(to)
			}
		}
		state[n] = done
	}
	for n := range state {
		if state[n] == fresh {
			visit(n)
		}
	}
}

// ends returns an edge's nodes in the order of layers.
func (l *layout) ends(i int) (from, to int) {
	e := l.g.Edges[i]
	if l.turned[i] {
		return e.To, e.From
	}
	return e.From, e.To
}

// assignLayers repeats: without cycles, the longest way is found after as many rounds as there are nodes.
func (l *layout) assignLayers() {
	l.layer = make([]int, len(l.g.Sizes))
	for range l.g.Sizes {
		changed := false
		for i := range l.g.Edges {
			if !l.known(i) {
				continue
			}
			if from, to := l.ends(i); from != to && l.layer[to] <= l.layer[from] {
				l.layer[to], changed = l.layer[from]+1, true
			}
		}
		if !changed {
			return
		}
	}
}

func (l *layout) addItems() {
	for n, s := range l.g.Sizes {
		size := s.W
		if l.o.Across {
			size = s.H
		}
		l.items = append(l.items, item{layer: l.layer[n], node: n, size: size})
	}
	for i := range l.g.Edges {
		if !l.known(i) {
			continue
		}
		from, to := l.ends(i)
		before := from
		for layer := l.layer[from] + 1; layer < l.layer[to]; layer++ {
			at := len(l.items)
			l.items = append(l.items, item{layer: layer, node: -1, size: 1})
			l.join(before, at)
			l.bends[i], before = append(l.bends[i], at), at
		}
		if from != to {
			l.join(before, to)
		}
	}
	for at := range l.items {
		layer := l.items[at].layer
		for len(l.layers) <= layer {
			l.layers = append(l.layers, nil)
		}
		l.layers[layer] = append(l.layers[layer], at)
	}
}

func (l *layout) join(a, b int) {
	l.items[a].down, l.items[b].up = append(l.items[a].down, b), append(l.items[b].up, a)
}

// order keeps the best of several sweeps down and up.
func (l *layout) order() {
	l.number()
	best, fewest := l.snapshot(), l.crossings()
	for sweep := 0; sweep < sweeps && fewest > 0; sweep++ {
		down := sweep%2 == 0
		for i := range l.layers {
			layer := l.layers[i]
			if !down {
				layer = l.layers[len(l.layers)-1-i]
			}
			l.byBarycentre(layer, down)
		}
		if n := l.crossings(); n < fewest {
			best, fewest = l.snapshot(), n
		}
	}
	l.layers = best
	l.number()
}

func (l *layout) number() {
	for _, layer := range l.layers {
		for place, at := range layer {
			l.items[at].at = float64(place)
		}
	}
}

func (l *layout) snapshot() [][]int {
	out := make([][]int, len(l.layers))
	for i, layer := range l.layers {
		out[i] = slices.Clone(layer)
	}
	return out
}

func (l *layout) byBarycentre(layer []int, down bool) {
	centre := map[int]float64{}
	for _, at := range layer {
		neighbours := l.items[at].up
		if !down {
			neighbours = l.items[at].down
		}
		centre[at] = l.mean(neighbours, l.items[at].at)
	}
	slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(centre[a], centre[b]) })
	for place, at := range layer {
		l.items[at].at = float64(place)
	}
}

func (l *layout) mean(neighbours []int, otherwise float64) float64 {
	if len(neighbours) == 0 {
		return otherwise
	}
	sum := 0.0
	for _, n := range neighbours {
		sum += l.items[n].at
	}
	return sum / float64(len(neighbours))
}

// crossings counts the pairs of edges between neighbouring layers that cross.
func (l *layout) crossings() int {
	n := 0
	for _, layer := range l.layers {
		var ends []float64 // of the edges so far, by their beginnings
		for _, at := range layer {
			var own []float64
			for _, to := range l.items[at].down {
				own = append(own, l.items[to].at)
			}
			for _, end := range own {
				for _, other := range ends {
					if other > end {
						n++
					}
				}
			}
			ends = append(ends, own...)
		}
	}
	return n
}

// place moves each item towards the middle of its neighbours, as far as its own layer allows.
func (l *layout) place() {
	for _, layer := range l.layers {
		x := 0.0
		for _, at := range layer {
			it := &l.items[at]
			it.at = x + it.size/2
			x += it.size + l.o.Nodes
		}
		for _, at := range layer { // around the middle
			l.items[at].at -= (x - l.o.Nodes) / 2
		}
	}
	for sweep := range sweeps {
		down := sweep%2 == 0
		for i := range l.layers {
			layer := l.layers[i]
			if !down {
				layer = l.layers[len(l.layers)-1-i]
			}
			l.placeLayer(layer, down)
		}
	}
}

// placeLayer places a layer as its neighbours want it, in order and apart: the mean of what fits from the left and from the right.
func (l *layout) placeLayer(layer []int, down bool) {
	n := len(layer)
	left, right := make([]float64, n), make([]float64, n)
	want := func(i int) float64 {
		it := &l.items[layer[i]]
		neighbours := it.up
		if !down {
			neighbours = it.down
		}
		return l.mean(neighbours, it.at)
	}
	apart := func(i, j int) float64 { return (l.items[layer[i]].size+l.items[layer[j]].size)/2 + l.o.Nodes }
	for i := range n {
		left[i], right[n-1-i] = want(i), want(n-1-i)
		if i > 0 {
			left[i] = max(left[i], left[i-1]+apart(i-1, i))
			right[n-1-i] = min(right[n-1-i], right[n-i]-apart(n-1-i, n-i))
		}
	}
	for i, at := range layer {
		l.items[at].at = (left[i] + right[i]) / 2
	}
}

func (l *layout) result() Layout {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range l.items {
		lo, hi = min(lo, l.items[i].at-l.items[i].size/2), max(hi, l.items[i].at+l.items[i].size/2)
	}
	out := Layout{Boxes: make([]Box, len(l.g.Sizes)), Lines: make([][]Point, len(l.g.Edges)), Layer: l.layer}
	if len(l.items) == 0 {
		return out
	}
	depth, along := l.depths()
	point := func(at int) Point {
		it := &l.items[at]
		if l.o.Across {
			return Point{depth[it.layer], it.at - lo}
		}
		return Point{it.at - lo, depth[it.layer]}
	}
	for n, s := range l.g.Sizes {
		p := point(n)
		out.Boxes[n] = Box{p.X, p.Y, s.W, s.H}
	}
	out.W, out.H = hi-lo, along
	if l.o.Across {
		out.W, out.H = along, hi-lo
	}
	for i := range l.g.Edges {
		if l.known(i) {
			out.Lines[i] = l.line(i, point)
		}
	}
	return out
}

// depths are the middles of the layers, and where the last ends.
func (l *layout) depths() (middles []float64, end float64) {
	for i, layer := range l.layers {
		thick := 0.0
		for _, at := range layer {
			if n := l.items[at].node; n >= 0 && l.o.Across {
				thick = max(thick, l.g.Sizes[n].W)
			} else if n >= 0 {
				thick = max(thick, l.g.Sizes[n].H)
			}
		}
		if i > 0 {
			end += l.o.Layers
		}
		middles = append(middles, end+thick/2)
		end += thick
	}
	return middles, end
}

// line begins and ends at the sides of its boxes that face each other.
func (l *layout) line(i int, point func(at int) Point) []Point {
	from, to := l.ends(i)
	side := func(n int, sign float64) Point {
		p, s := point(n), l.g.Sizes[n]
		if l.o.Across {
			return Point{p.X + sign*s.W/2, p.Y}
		}
		return Point{p.X, p.Y + sign*s.H/2}
	}
	if from == to { // a loop of one node, below it
		p, s := point(from), l.g.Sizes[from]
		low := p.Y + s.H/2
		return []Point{{p.X + s.W/4, low}, {p.X + s.W/8, low + l.o.Nodes/2}, {p.X - s.W/8, low + l.o.Nodes/2}, {p.X - s.W/4, low}}
	}
	out := []Point{side(from, 1)}
	for _, at := range l.bends[i] {
		out = append(out, point(at))
	}
	out = append(out, side(to, -1))
	if l.turned[i] {
		slices.Reverse(out)
	}
	return out
}
