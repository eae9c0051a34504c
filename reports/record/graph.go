package record

import "fmt"

// Graph outlines a compiled workflow: the nodes that stop and commit, and where it branches and loops. What is alike is one node, so
// that a workflow of thousands of tasks has a few dozen.
type Graph struct {
	Nodes []GraphNode `json:"nodes"`
	Edges []GraphEdge `json:"edges"`
}

// GraphNode is a node, or several that are alike.
type GraphNode struct {
	// of an action, as workers know it; "a, and 3 more" of several
	Name string `json:"name"`
	// as in package graph: "input", "action", "aggregate", "branch" …
	Kind string `json:"kind"`
	// it waits for several others
	Waits bool `json:"waits,omitempty"`
	// nodes of the compiled graph that it stands for
	Nodes int `json:"nodes"`
	// Runs of an instance: more than Nodes in loops and over the elements of a list. 0: not known.
	Runs int `json:"runs"`
}

// GraphEdge leads from one of Nodes to another, by their indices. Kind is empty, "back" for the next round of a loop, or "exception".
type GraphEdge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Kind string `json:"kind,omitempty"`
}

// The kinds of edges that stand out.
const (
	EdgeBack      = "back"
	EdgeException = "exception"
)

func (g *Graph) validate() error {
	if g == nil {
		return nil
	}
	for i, e := range g.Edges {
		if min(e.From, e.To) < 0 || max(e.From, e.To) >= len(g.Nodes) {
			return fmt.Errorf("edge %d of a graph leads from node %d to %d, of %d nodes", i+1, e.From, e.To, len(g.Nodes))
		}
	}
	return nil
}
