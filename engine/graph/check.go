package graph

import (
	"fmt"
	"strings"
)

// Check verifies the invariants on which later packages rely, and makes the graph ready for use. The error lists every violation
// on its own line:
//
//   - the priority is in its bounds;
//   - Nodes[i].ID is i, names are unique, node 0 is the only input node and there is one output node;
//   - every index into nodes, variables and frames is in range;
//   - every node can be reached from the input, and the output from every node;
//   - Required is the number of forward edges plus one for soft edges, and at least one; zero only for the input and the
//     aggregate of a spread; the branches of a parallel have indices from 0 on;
//   - every node has what its kind needs: its expression, its variable, the aggregate of a spread;
//   - guards leave only branches and nothing else leaves one, continue leaves only loop heads, break leads to loop exits, and
//     without back edges there is no cycle;
//   - an edge leads at most one level deeper, and that only from a loop_init or a spread;
//   - every region is inside an earlier one, and nodes are at least as deep as theirs;
//   - no node waits for several cases of a branch of which only one is taken.
func (g *Graph) Check() error {
	c := &checker{g: g}
	c.parts()
	if c.failed() {
		return c.err()
	}
	c.nodes()
	if c.failed() {
		return c.err()
	}
	c.edges()
	if c.failed() {
		return c.err()
	}
	g.index()
	c.regions()
	if c.failed() {
		return c.err()
	}
	c.shapes()
	c.counts()
	c.reachability()
	c.cycles()
	if !c.failed() {
		c.merges()
	}
	return c.err()
}

type checker struct {
	g    *Graph
	msgs []string
}

func (c *checker) failed() bool { return len(c.msgs) > 0 }

func (c *checker) err() error {
	if !c.failed() {
		return nil
	}
	return fmt.Errorf("graph %s: %s", c.g.Name, strings.Join(c.msgs, "\n"))
}

func (c *checker) add(n *Node, format string, args ...any) {
	where := "node " + n.Name
	if n.Pos.Line > 0 {
		where = n.Pos.String() + ": " + where
	}
	c.msgs = append(c.msgs, where+": "+fmt.Sprintf(format, args...))
}

func (c *checker) nodes() {
	g := c.g
	if len(g.Nodes) == 0 || g.Nodes[0] == nil || g.Nodes[0].Kind != Input {
		c.msgs = append(c.msgs, "node 0 is not the input")
		return
	}
	if limit := g.Limits.WithDefaults().Nodes; len(g.Nodes) > limit {
		c.msgs = append(c.msgs, fmt.Sprintf("%d nodes are over the limit of %d; split the workflow or raise the limit", len(g.Nodes), limit))
		return
	}
	if g.Priority < 0 || g.Priority > PriorityMax {
		c.msgs = append(c.msgs, fmt.Sprintf("the priority is %d; give one from 0 to %d", g.Priority, PriorityMax))
	}
	names := map[string]bool{}
	outputs := 0
	for i, n := range g.Nodes {
		switch {
		case n == nil:
			c.msgs = append(c.msgs, fmt.Sprintf("node %d is missing", i))
			return
		case n.ID != NodeID(i):
			c.add(n, "has the id %d at place %d", n.ID, i)
		case names[n.Name]:
			c.add(n, "the name is taken")
		case n.Kind == Input && i > 0:
			c.add(n, "is a second input node")
		case n.Depth < 0:
			c.add(n, "stands at the depth %d", n.Depth)
		case n.Frame < 0 || n.Frame >= len(g.Frames):
			c.add(n, "has no frame %d", n.Frame)
		case n.Aggregate < 0 || int(n.Aggregate) >= len(g.Nodes):
			c.add(n, "has no aggregate %d", n.Aggregate)
		}
		if n.Kind == Output {
			outputs++
		}
		names[n.Name] = true
		c.vars(n)
	}
	if outputs != 1 {
		c.msgs = append(c.msgs, fmt.Sprintf("%d output nodes; there must be one", outputs))
	}
}

func (c *checker) vars(n *Node) {
	ok := func(v VarID) {
		if v < 0 || int(v) >= len(c.g.Vars) {
			c.add(n, "has no variable %d", v)
		}
	}
	for _, v := range n.Targets {
		ok(v)
	}
	for _, v := range n.Clear {
		ok(v)
	}
	for _, s := range n.Sets {
		for _, v := range s.Targets {
			ok(v)
		}
		if s.Value == nil {
			ok(s.From)
		}
	}
	if n.Var != None {
		ok(n.Var)
	}
}

func (c *checker) edges() {
	g := c.g
	for _, e := range g.Edges {
		if e.From < 0 || e.To < 0 || int(e.From) >= len(g.Nodes) || int(e.To) >= len(g.Nodes) {
			c.msgs = append(c.msgs, fmt.Sprintf("an edge leads from node %d to node %d; there are %d", e.From, e.To, len(g.Nodes)))
			continue
		}
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		opens := from.Kind == LoopInit || from.Kind == Spread
		if wrong := e.leaves(from, to); wrong != "" {
			c.add(from, "%s", wrong)
			continue
		}
		switch {
		case to.Depth > from.Depth+1 || to.Depth > from.Depth && !opens:
			c.add(to, "stands deeper than %s, which opens no loop or spread", from.Name)
		case to.Kind == Aggregate && (e.Var < 0 || int(e.Var) >= len(g.Vars)):
			c.add(to, "the edge from %s carries no value", from.Name)
		case e.Kind == Exception && e.Var != None && (e.Var < 0 || int(e.Var) >= len(g.Vars)):
			c.add(to, "the edge from %s binds the error to no variable", from.Name)
		}
	}
}

func (c *checker) counts() {
	spreads := map[NodeID]bool{}
	for _, n := range c.g.Nodes {
		if n.Kind == Spread {
			spreads[n.Aggregate] = true
		}
	}
	for _, n := range c.g.Nodes {
		want, soft := 0, 0
		for _, e := range c.g.in[n.ID] {
			switch e.Kind {
			case Forward:
				want++
			case Soft:
				soft = 1
			}
		}
		want = max(want+soft, 1)
		if n.Kind == Input || spreads[n.ID] {
			want = 0
		}
		if n.Required != want {
			c.add(n, "requires %d arrivals where its edges make %d", n.Required, want)
		}
		if n.Kind == Aggregate && !spreads[n.ID] {
			c.elements(n)
		}
	}
}

func (c *checker) elements(n *Node) {
	taken := make([]bool, len(c.g.in[n.ID]))
	for _, e := range c.g.in[n.ID] {
		if e.Element < 0 || e.Element >= len(taken) || taken[e.Element] {
			c.add(n, "has no place %d for the value of %s", e.Element, c.g.Nodes[e.From].Name)
			return
		}
		taken[e.Element] = true
	}
}

// Every node must be on a way from the input to the output.
func (c *checker) reachability() {
	g := c.g
	after, before := make([][]NodeID, len(g.Nodes)), make([][]NodeID, len(g.Nodes))
	link := func(from, to NodeID) {
		after[from], before[to] = append(after[from], to), append(before[to], from)
	}
	var output NodeID
	for _, n := range g.Nodes {
		for _, e := range g.out[n.ID] {
			link(n.ID, e.To)
		}
		if agg, ok := n.Skip(); ok {
			link(n.ID, agg)
		}
		if n.Kind == Output {
			output = n.ID
		}
	}
	from, to := reach(0, after), reach(output, before)
	for _, n := range g.Nodes {
		switch {
		case !from[n.ID]:
			c.add(n, "cannot be reached from the input")
		case !to[n.ID] && n.Kind != Output && !c.endless(n):
			c.add(n, "leads nowhere; let the output come after it")
		}
	}
}

// endless reports whether a node is in a loop, which may only be left by an error.
func (c *checker) endless(n *Node) bool { return n.Depth > 0 }

func reach(start NodeID, next [][]NodeID) []bool {
	seen := make([]bool, len(next))
	seen[start] = true
	for stack := []NodeID{start}; len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, m := range next[n] {
			if !seen[m] {
				seen[m] = true
				stack = append(stack, m)
			}
		}
	}
	return seen
}

func (c *checker) cycles() {
	g := c.g
	open := make([]int, len(g.Nodes))
	for _, e := range g.Edges {
		if e.Kind != Data && e.Kind != Back {
			open[e.To]++
		}
	}
	var ready []NodeID
	for i, n := range open {
		if n == 0 {
			ready = append(ready, NodeID(i))
		}
	}
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, e := range g.out[n] {
			if e.Kind == Back {
				continue
			}
			if open[e.To]--; open[e.To] == 0 {
				ready = append(ready, e.To)
			}
		}
	}
	for i, left := range open {
		if left > 0 {
			c.add(g.Nodes[i], "stands on a cycle: %s; take out one of the edges", c.cycle(NodeID(i), open))
			return
		}
	}
}

// cycle goes back from a node on or behind a cycle, and names its nodes.
func (c *checker) cycle(n NodeID, open []int) string {
	place := map[NodeID]int{}
	var way []NodeID
	for {
		if at, seen := place[n]; seen {
			way = append(way[at:], n)
			break
		}
		place[n] = len(way)
		way = append(way, n)
		for _, e := range c.g.in[n] {
			if e.Kind != Back && open[e.From] > 0 {
				n = e.From
				break
			}
		}
	}
	names := make([]string, len(way))
	for i, id := range way {
		names[len(way)-1-i] = c.g.Nodes[id].Name
	}
	return strings.Join(names, " → ")
}
