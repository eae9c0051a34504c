package eager

import (
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// shapesMax bounds the cache of shapes; beyond it, it starts anew.
const shapesMax = 1000

// shape is what the tables need to know of a workflow: which rows there are, and which parts of a path
// choose among them.
type shape struct {
	graph *graph.Graph
	loops [][]bool                        // by region: which parts of a path there are rounds of loops
	first []graph.NodeID                  // nodes outside of all spreads: they have rows from the start
	each  map[graph.NodeID][]graph.NodeID // by aggregate of a spread: nodes that have rows for each element

	// recycles says that a round of a loop may end while runs of it are at work, and leave their rows to the next.
	recycles bool
}

// shape gives the shape of a workflow.
func (b *Backend) shape(p *plan.Program) *shape {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.shapes[p.Hash()]
	if s == nil {
		if len(b.shapes) >= shapesMax {
			clear(b.shapes)
		}
		s = shapeOf(p.Graph())
		b.shapes[p.Hash()] = s
	}
	return s
}

func shapeOf(g *graph.Graph) *shape {
	s := &shape{graph: g, loops: make([][]bool, len(g.Regions)), each: map[graph.NodeID][]graph.NodeID{}, recycles: recycles(g)}
	for id := range g.Regions {
		s.loops[id] = make([]bool, g.Regions[id].Depth)
		for _, r := range g.Around(graph.RegionID(id)) {
			if g.Regions[r].Loop {
				s.loops[id][g.Regions[r].Depth-1] = true
			}
		}
	}
	for _, n := range g.Nodes {
		if s.indices(n) == 0 {
			s.first = append(s.first, n.ID)
		}
	}
	for _, n := range g.Nodes {
		if n.Kind != graph.Spread {
			continue
		}
		agg := g.Nodes[n.Aggregate]
		for _, inner := range g.Nodes {
			if g.Within(inner.Region, agg.Region) && s.indices(inner) == s.indices(agg)+1 {
				s.each[agg.ID] = append(s.each[agg.ID], inner.ID)
			}
		}
	}
	return s
}

// recycles finds loops in whose body something is done at once, of which a part can be cancelled: by an error that leaves it and is
// caught, or where one of several branches suffices to go on.
func recycles(g *graph.Graph) bool {
	inLoop := func(r graph.RegionID) bool {
		return slices.ContainsFunc(g.Around(r), func(around graph.RegionID) bool { return g.Regions[around].Loop })
	}
	for id, r := range g.Regions {
		if !r.Loop && inLoop(graph.RegionID(id)) {
			return true
		}
	}
	return slices.ContainsFunc(g.Edges, func(e *graph.Edge) bool { return e.Kind == graph.Soft && inLoop(g.Nodes[e.To].Region) })
}

// indices is how many parts of the path of a node's runs are indices of spreads.
func (s *shape) indices(n *graph.Node) int {
	count := n.Depth
	for _, r := range s.graph.Around(n.Region) {
		if s.graph.Regions[r].Loop {
			count--
		}
	}
	return count
}

// run gives the place of a run: its path without the rounds of loops.
func (s *shape) run(run graph.Run) graph.Path {
	if run.Node < 0 || int(run.Node) >= len(s.graph.Nodes) {
		return run.Path
	}
	return s.place(s.graph.Nodes[run.Node].Region, run.Path)
}

// place gives a path in a region without the rounds of loops.
func (s *shape) place(region graph.RegionID, path graph.Path) graph.Path {
	if path == "" {
		return ""
	}
	loops := s.loops[region]
	var kept []string
	i := 0
	for part := range strings.SplitSeq(string(path), ".") {
		if i >= len(loops) || !loops[i] {
			kept = append(kept, part)
		}
		i++
	}
	return graph.Path(strings.Join(kept, "."))
}

// required is the count of a node before anything is known of the run: zero for a spread's aggregate.
func (s *shape) required(id graph.NodeID) int32 {
	n := s.graph.Nodes[id]
	if n.Kind == graph.Aggregate {
		return int32(n.Required)
	}
	return int32(max(n.Required, 1))
}
