// Package outline reduces a compiled workflow to what a reader sees at a glance, for records.
package outline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/reports/record"
)

const (
	// nodesMost bounds an outline.
	nodesMost = 40
	// stretches is how many a workflow is divided into that has more nodes even if all at one level are one.
	stretches = 10
)

// Of returns the outline of a graph. Runs are how often each node ran in an instance; nil: not known. Nodes that run inline are left
// out, but for branches and the heads of loops; what follows them follows what came before. Nodes of the same action with the same
// neighbours are one, and so are those of the same action in a row. If that leaves too many, nodes of the same action at the same
// distance from the input are one, then all at that distance, then those of neighbouring distances.
func Of(g *graph.Graph, runs map[graph.NodeID]int) *record.Graph { return Marked(g, runs, nil) }

// Marked is Of with marks behind the names of some nodes. Nodes with different marks are not alike.
func Marked(g *graph.Graph, runs map[graph.NodeID]int, marks map[graph.NodeID]string) *record.Graph {
	o := contract(g, runs, marks)
	o.merge(o.alike())
	o.merge(o.inRow())
	for _, coarser := range []func(*outline) []string{byLevel, anyOfLevel, nearLevels} {
		if len(o.nodes) > nodesMost {
			o.merge(coarser(o))
			o.merge(o.inRow())
		}
	}
	return o.record()
}

type node struct {
	record.GraphNode
	// names of what it stands for
	names map[string]bool
}

type outline struct {
	nodes []node
	edges []record.GraphEdge
}

func kept(g *graph.Graph, n *graph.Node) bool {
	switch n.Kind {
	case graph.Input, graph.Branch, graph.LoopHead:
		return true
	}
	return g.Frontier(n)
}

func contract(g *graph.Graph, runs map[graph.NodeID]int, marks map[graph.NodeID]string) *outline {
	o := &outline{}
	at := map[graph.NodeID]int{}
	for _, n := range g.Nodes {
		if !kept(g, n) {
			continue
		}
		name := n.Name
		if n.Action != "" {
			name = n.Action
		}
		if mark := marks[n.ID]; mark != "" {
			name += " " + mark
		}
		at[n.ID] = len(o.nodes)
		o.nodes = append(o.nodes, node{record.GraphNode{Name: name, Kind: string(n.Kind), Waits: g.Waits(n), Nodes: 1, Runs: runs[n.ID]}, map[string]bool{name: true}})
	}
	for _, n := range g.Nodes {
		if from, ok := at[n.ID]; ok {
			follow(g, n.ID, "", map[way]bool{}, func(to graph.NodeID, kind string) bool {
				i, ok := at[to]
				if ok {
					o.edges = append(o.edges, record.GraphEdge{From: from, To: i, Kind: kind})
				}
				return ok
			})
		}
	}
	o.sortEdges()
	return o
}

type way struct {
	to   graph.NodeID
	kind string
}

// follow calls end with each node that n leads to, until end returns true.
func follow(g *graph.Graph, n graph.NodeID, kind string, seen map[way]bool, end func(to graph.NodeID, kind string) bool) {
	for _, e := range g.Out(n) {
		next := way{e.To, kind}
		switch {
		case e.Kind == graph.Back:
			next.kind = record.EdgeBack
		case e.Kind == graph.Exception && kind == "":
			next.kind = record.EdgeException
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		if !end(next.to, next.kind) {
			follow(g, next.to, next.kind, seen, end)
		}
	}
}

// sortEdges keeps each edge once.
func (o *outline) sortEdges() {
	slices.SortFunc(o.edges, func(a, b record.GraphEdge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind))
	})
	o.edges = slices.Compact(o.edges)
}

// merge makes nodes with the same key one, in the order of their first.
func (o *outline) merge(keys []string) {
	at := map[string]int{}
	to := make([]int, len(o.nodes))
	var nodes []node
	for i, n := range o.nodes {
		j, known := at[keys[i]]
		if !known {
			at[keys[i]], to[i] = len(nodes), len(nodes)
			nodes = append(nodes, n)
			continue
		}
		to[i] = j
		m := &nodes[j]
		m.Nodes, m.Runs, m.Waits = m.Nodes+n.Nodes, m.Runs+n.Runs, m.Waits || n.Waits
		if n.Kind == string(graph.Action) {
			m.Kind = n.Kind
		}
		maps.Copy(m.names, n.names)
	}
	var edges []record.GraphEdge
	for _, e := range o.edges {
		if from, end := to[e.From], to[e.To]; from != end || e.Kind == record.EdgeBack {
			edges = append(edges, record.GraphEdge{From: from, To: end, Kind: e.Kind})
		}
	}
	o.nodes, o.edges = nodes, edges
	o.sortEdges()
}

func (n *node) label() string { return n.Kind + " " + n.Name }

// alike is the same for nodes of the same action between the same neighbours.
func (o *outline) alike() []string {
	around := make([]strings.Builder, len(o.nodes))
	for i := range around {
		around[i].WriteString(o.nodes[i].label())
	}
	for _, e := range o.edges {
		fmt.Fprintf(&around[e.From], " >%d%s", e.To, e.Kind)
		fmt.Fprintf(&around[e.To], " <%d%s", e.From, e.Kind)
	}
	out := make([]string, len(o.nodes))
	for i := range out {
		out[i] = around[i].String()
	}
	return out
}

// inRow is the same for nodes of the same action, each of which is all that the one before it leads to.
func (o *outline) inRow() []string {
	out, in := make([]int, len(o.nodes)), make([]int, len(o.nodes))
	for _, e := range o.edges {
		out[e.From]++
		in[e.To]++
	}
	before := map[int]int{}
	for _, e := range o.edges {
		if e.Kind == "" && e.From != e.To && out[e.From] == 1 && in[e.To] == 1 && o.nodes[e.From].label() == o.nodes[e.To].label() {
			before[e.To] = e.From
		}
	}
	keys := make([]string, len(o.nodes))
	for i := range keys {
		first := i
		for steps := 0; steps < len(o.nodes); steps++ {
			next, ok := before[first]
			if !ok {
				break
			}
			first = next
		}
		keys[i] = fmt.Sprint(first)
	}
	return keys
}

// levels is the length of the longest way to each node, without back edges.
func (o *outline) levels() []int {
	in, next := make([]int, len(o.nodes)), make([][]int, len(o.nodes))
	for _, e := range o.edges {
		if e.Kind != record.EdgeBack {
			in[e.To]++
			next[e.From] = append(next[e.From], e.To)
		}
	}
	var ready []int
	for i, n := range in {
		if n == 0 {
			ready = append(ready, i)
		}
	}
	level := make([]int, len(o.nodes))
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		for _, j := range next[i] {
			level[j] = max(level[j], level[i]+1)
			if in[j]--; in[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	return level
}

func byLevel(o *outline) []string {
	return keysOf(o, func(level, _ int, n *node) string { return fmt.Sprint(level, n.label()) })
}

func anyOfLevel(o *outline) []string {
	return keysOf(o, func(level, _ int, _ *node) string { return fmt.Sprint(level) })
}

// nearLevels keeps the ends.
func nearLevels(o *outline) []string {
	return keysOf(o, func(level, last int, _ *node) string {
		if level == 0 || level == last {
			return fmt.Sprint("end ", level)
		}
		return fmt.Sprint(level * stretches / max(last, 1))
	})
}

func keysOf(o *outline, key func(level, last int, n *node) string) []string {
	levels := o.levels()
	last := slices.Max(append([]int{0}, levels...))
	out := make([]string, len(levels))
	for i, level := range levels {
		out[i] = key(level, last, &o.nodes[i])
	}
	return out
}

func (o *outline) record() *record.Graph {
	out := &record.Graph{Nodes: []record.GraphNode{}, Edges: o.edges}
	for _, n := range o.nodes {
		if others := len(n.names) - 1; others > 0 {
			n.Name = fmt.Sprintf("%s, and %d more", slices.Min(slices.Collect(maps.Keys(n.names))), others)
		}
		out.Nodes = append(out.Nodes, n.GraphNode)
	}
	if out.Edges == nil {
		out.Edges = []record.GraphEdge{}
	}
	return out
}
