package chaos

import (
	"strings"

	"pulley/engine/graph"
	"pulley/engine/oracle"
)

// Joins counts the runs of nodes that wait for several others. A join is contended if several engines applied the completions
// that it waited for, so that their commits met at its counter.
type Joins struct {
	All       int `json:"all"`
	Contended int `json:"contended"`
}

// join is a run of a node that waits for several.
type join struct {
	instance string
	node     graph.NodeID
	path     string
}

func contention(h oracle.History, of func(instance string) *graph.Graph) Joins {
	places := map[join]string{} // the engine of the first completion, or several
	out := Joins{}
	names := map[*graph.Graph]map[string]*graph.Node{}
	for i := range h {
		e := &h[i]
		if e.Kind != oracle.Answered || e.Answer != oracle.AnswerApplied || e.Again {
			continue
		}
		g := of(e.Instance)
		if g == nil {
			continue
		}
		if names[g] == nil {
			names[g] = nodesOf(g)
		}
		from := names[g][e.Node]
		if from == nil {
			continue
		}
		place, _, _ := strings.Cut(e.Source, ".") // each incarnation of an engine is a source of its own
		for _, edge := range g.Out(from.ID) {
			to := g.Nodes[edge.To]
			if !joins(edge, to) {
				continue
			}
			key := join{e.Instance, to.ID, outer(e.Path, to.Depth)}
			switch first, known := places[key]; {
			case !known:
				places[key] = place
				out.All++
			case first != place && first != several:
				places[key] = several
				out.Contended++
			}
		}
	}
	return out
}

const several = "several"

// joins reports whether an edge is one of several that its target waits for.
func joins(e *graph.Edge, to *graph.Node) bool {
	return (e.Kind == graph.Forward || e.Kind == graph.Soft) && (to.Required > 1 || to.Kind == graph.Aggregate)
}

func nodesOf(g *graph.Graph) map[string]*graph.Node {
	out := map[string]*graph.Node{}
	for _, n := range g.Nodes {
		out[n.Name] = n
	}
	return out
}

func outer(path string, depth int) string {
	parts := strings.Split(path, ".")
	return strings.Join(parts[:min(depth, len(parts))], ".")
}
