package eager

import (
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// shapesMax is the size at which the cache of shapes is cleared.
const shapesMax = 1000

// shape is what the tables need of a workflow: its rows, and which parts of a path select them.
type shape struct {
	graph *graph.Graph
	loops [][]bool                        // by region: which parts of its paths are rounds of loops
	first []graph.NodeID                  // nodes outside spreads, with rows from the start
	each  map[graph.NodeID][]graph.NodeID // by a spread's aggregate: nodes with a row for each element

	// recycles: a loop's round can end with open node runs, whose rows the next round reuses.
	recycles bool
}

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

// recycles reports whether a loop's body has concurrent runs of which some can be cancelled: by a caught error, or where one of
// several branches suffices.
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

func (s *shape) indices(n *graph.Node) int {
	count := n.Depth
	for _, r := range s.graph.Around(n.Region) {
		if s.graph.Regions[r].Loop {
			count--
		}
	}
	return count
}

// run returns a node run's place: its path without rounds of loops.
func (s *shape) run(run graph.Run) graph.Path {
	if run.Node < 0 || int(run.Node) >= len(s.graph.Nodes) {
		return run.Path
	}
	return s.place(s.graph.Nodes[run.Node].Region, run.Path)
}

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

// required returns a node's initial count; zero for a spread's aggregate.
func (s *shape) required(id graph.NodeID) int32 {
	n := s.graph.Nodes[id]
	if n.Kind == graph.Aggregate {
		return int32(n.Required)
	}
	return int32(max(n.Required, 1))
}
