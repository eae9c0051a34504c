package graph

import (
	"slices"
	"sort"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Reads lists the variables that a node's expressions and guards read, in no order and perhaps twice. An aggregate's elements
// are no variables.
func (g *Graph) Reads(n *Node) []VarID {
	var out []VarID
	for _, a := range n.Args {
		out = append(out, g.names(n, a.Value)...)
	}
	for _, s := range n.Sets {
		switch {
		case s.Append != nil:
			out = append(append(out, g.names(n, s.Append)...), g.Vars[s.Targets[0]].Length)
		case s.Value != nil:
			out = append(out, g.names(n, s.Value)...)
		default:
			out = append(out, s.From)
		}
	}
	if n.Expr != nil {
		out = append(out, g.names(n, n.Expr)...)
	}
	if n.Var != None && (n.Kind == LoopHead || n.Kind == Output) {
		out = append(out, n.Var)
	}
	for _, e := range g.out[n.ID] {
		if e.Guard != nil {
			out = append(out, g.names(n, e.Guard)...)
		}
	}
	return out
}

// Every expression of a checked graph compiles.
func (g *Graph) names(n *Node, e *ir.Expr) []VarID {
	compiled, err := expr.Compile(e, g.Limits)
	if err != nil {
		return nil
	}
	frame := g.Frames[n.Frame].Names
	var out []VarID
	for _, name := range compiled.Names() {
		if v, ok := frame[name]; ok {
			out = append(out, v)
		}
	}
	return out
}

// Writes lists the variables that a node sets or clears.
func (n *Node) Writes() []VarID {
	out := append([]VarID(nil), n.Targets...)
	for _, s := range n.Sets {
		out = append(out, s.Targets...)
	}
	out = append(out, n.Clear...)
	if n.Var != None && (n.Kind == LoopInit || n.Kind == Spread) {
		out = append(out, n.Var)
	}
	return out
}

// Kills lists the variables whose earlier value cannot be read after the node, unless an error leads away from it. A loop's
// head binds its targets only if there is another round, and an append keeps the value.
func (n *Node) Kills() []VarID {
	if n.Kind == LoopHead {
		return nil
	}
	out := n.Writes()
	for _, s := range n.Sets {
		if s.Append != nil {
			out = slices.DeleteFunc(out, func(v VarID) bool { return v == s.Targets[0] })
		}
	}
	return out
}

// Live holds, for every node, which variables may still be read from there with their current value: what a commit must keep,
// and no more (D12).
type Live struct {
	in    [][]VarID // sorted: live where a run of the node begins
	kills [][]VarID // by node, see Kills
	g     *Graph
}

// In reports whether the variable is live where the node begins.
func (l *Live) In(n NodeID, v VarID) bool {
	_, found := slices.BinarySearch(l.in[n], v)
	return found
}

// Across reports whether the variable is live while the node runs: something after it reads its current value.
func (l *Live) Across(n *Node, v VarID) bool {
	killed := slices.Contains(l.kills[n.ID], v)
	return slices.ContainsFunc(l.g.out[n.ID], func(e *Edge) bool { return l.In(e.To, v) && !e.kills(v, killed) })
}

// kills reports whether an earlier value cannot be read after the edge: the node, or the edge, sets the variable. On an error
// the node sets nothing.
func (e *Edge) kills(v VarID, byNode bool) bool {
	if e.Kind == Exception {
		return e.Var == v
	}
	return byNode
}

// Liveness computes the live variables by going back from every read to the writes before it (the textbook's backward analysis,
// one variable at a time). reads[n] are the variables that node n reads.
func (g *Graph) Liveness(reads [][]VarID) *Live {
	l := &Live{in: make([][]VarID, len(g.Nodes)), kills: make([][]VarID, len(g.Nodes)), g: g}
	readers := make([][]NodeID, len(g.Vars))
	writers := make([]map[NodeID]bool, len(g.Vars))
	for id, n := range g.Nodes {
		for _, v := range reads[id] {
			readers[v] = append(readers[v], NodeID(id))
		}
		l.kills[id] = n.Kills()
		for _, v := range l.kills[id] {
			if writers[v] == nil {
				writers[v] = map[NodeID]bool{}
			}
			writers[v][NodeID(id)] = true
		}
	}
	marked := make([]VarID, len(g.Nodes)) // by node, the last variable marked there, plus one
	for v := range g.Vars {
		g.live(l, VarID(v), readers[v], writers[v], marked)
	}
	return l
}

// live marks one variable. A variable that one node writes and only its direct successors read, as in a graph of actions, needs
// no walk: a join of n would take n² steps.
func (g *Graph) live(l *Live, v VarID, readers []NodeID, writers map[NodeID]bool, marked []VarID) {
	mark := func(n NodeID) bool {
		if marked[n] == v+1 {
			return false
		}
		marked[n] = v + 1
		l.in[n] = append(l.in[n], v)
		return true
	}
	if len(writers) == 1 && g.readByNext(readers, writers) {
		for _, r := range readers {
			mark(r)
		}
		return
	}
	var stack []NodeID
	for _, r := range readers {
		if mark(r) {
			stack = append(stack, r)
		}
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, e := range g.in[n] {
			if !e.kills(v, writers[e.From]) && mark(e.From) {
				stack = append(stack, e.From)
			}
		}
	}
}

// readByNext reports whether all readers are direct successors of the writer, none in a loop, where the value could come round
// again.
func (g *Graph) readByNext(readers []NodeID, writers map[NodeID]bool) bool {
	after := map[NodeID]bool{}
	for w := range writers {
		if g.Nodes[w].Depth > 0 {
			return false
		}
		for _, e := range g.out[w] {
			if e.Kind == Exception {
				return false
			}
			after[e.To] = true
		}
	}
	return !slices.ContainsFunc(readers, func(r NodeID) bool { return !after[r] || g.Nodes[r].Depth > 0 })
}

// DataEdges returns, for every variable, an edge from each node that writes it to each frontier or branching node that may read
// that value: the values in inboxes. They are for people and checks; running needs only Liveness.
func (g *Graph) DataEdges() []*Edge {
	reads := make([]map[VarID]bool, len(g.Nodes))
	for i, n := range g.Nodes {
		reads[i] = map[VarID]bool{}
		for _, v := range g.Reads(n) {
			reads[i][v] = true
		}
	}
	var out []*Edge
	for _, n := range g.Nodes {
		var done []*Edge // taken after the node has set its values
		for _, e := range g.out[n.ID] {
			if e.Kind != Exception {
				done = append(done, e)
			} else if e.Var != None {
				out = append(out, g.dataFrom(n, e.Var, []*Edge{e}, reads)...)
			}
		}
		seen := map[VarID]bool{}
		for _, v := range n.Writes() {
			if !seen[v] {
				seen[v] = true
				out = append(out, g.dataFrom(n, v, done, reads)...)
			}
		}
	}
	return out
}

// dataFrom follows the control edges from a write, the given ones first, until the next write of the variable.
func (g *Graph) dataFrom(n *Node, v VarID, edges []*Edge, reads []map[VarID]bool) []*Edge {
	var out []*Edge
	seen := map[NodeID]bool{}
	for stack := slices.Clone(edges); len(stack) > 0; {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[e.To] {
			continue
		}
		seen[e.To] = true
		to := g.Nodes[e.To]
		if reads[to.ID][v] || to.Kind == Aggregate && e.Var == v {
			out = append(out, &Edge{From: n.ID, To: to.ID, Kind: Data, Var: v})
		}
		killed := slices.Contains(to.Kills(), v)
		for _, next := range g.out[to.ID] {
			if !next.kills(v, killed) {
				stack = append(stack, next)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].To < out[j].To })
	return out
}
