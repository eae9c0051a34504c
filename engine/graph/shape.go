package graph

import (
	"fmt"

	"go.starlark.net/syntax"
)

// The check of merges can distinguish caseMax ways of a branch.
const caseMax = 63

// parts checks every reference before other checks use it.
func (c *checker) parts() {
	g := c.g
	for i, e := range g.Edges {
		if e == nil {
			c.msgs = append(c.msgs, fmt.Sprintf("edge %d is missing", i))
		}
	}
	for i, v := range g.Vars {
		if v == nil || v.Scope < 0 {
			c.msgs = append(c.msgs, fmt.Sprintf("variable %d is missing or has a scope below 0", i))
		} else if v.Length < 0 || int(v.Length) >= len(g.Vars) {
			c.msgs = append(c.msgs, fmt.Sprintf("variable %d keeps its length in variable %d; there are %d", i, v.Length, len(g.Vars)))
		}
	}
	if !c.failed() {
		c.lengths()
	}
	for i, f := range g.Frames {
		for name, v := range f.Names {
			if v < 0 || int(v) >= len(g.Vars) {
				c.msgs = append(c.msgs, fmt.Sprintf("frame %d: %s stands for variable %d; there are %d", i, name, v, len(g.Vars)))
			}
		}
	}
}

func (c *checker) lengths() {
	of := map[VarID]int{}
	for i, v := range c.g.Vars {
		if v.Length == 0 {
			continue
		}
		length := c.g.Vars[v.Length]
		if other, twice := of[v.Length]; twice || length.Length != 0 || length.Scope != v.Scope {
			c.msgs = append(c.msgs, fmt.Sprintf("variable %d keeps its length in variable %d, which is in use (%d) or stands in another scope", i, v.Length, other))
		}
		of[v.Length] = i
	}
}

// shapes checks that every node has what its kind needs, so that later code need not ask.
func (c *checker) shapes() {
	forks := map[NodeID]int{}
	for _, n := range c.g.Nodes {
		if n.Kind == Spread || n.Kind == Parallel {
			forks[n.Aggregate]++
		}
	}
	for _, n := range c.g.Nodes {
		c.want(n, n.Kind != Aggregate || forks[n.ID] == 1, fmt.Sprintf("is the aggregate of %d spreads or parallels, not of one", forks[n.ID]))
		for _, a := range n.Args {
			c.want(n, a.Value != nil, fmt.Sprintf("argument %s has no value", a.Name))
		}
		for _, s := range n.Sets {
			c.want(n, s.Append == nil || c.appends(s), "appends what is no list, or to no accumulator")
		}
		switch n.Kind {
		case Input, Assign, Return, Join, Branch, Aggregate, LoopExit:
		case LoopNext:
			c.want(n, len(c.g.out[n.ID]) == 1, "does not lead to one more round")
		case Sleep:
			c.want(n, n.Expr != nil, "has no time to sleep for")
		case Action:
			c.want(n, n.Action != "", "names no action")
		case Output:
			c.want(n, n.Expr != nil || n.Var != None, "has neither an expression nor a variable for the result")
		case LoopInit:
			c.want(n, (n.Expr == nil) == (n.Var == None), "has an expression without a variable to keep it in, or the reverse")
			out := c.g.out[n.ID]
			ok := len(out) == 1 && c.g.Nodes[out[0].To].Kind == LoopHead && c.g.Nodes[out[0].To].Var == n.Var
			c.want(n, ok, "does not lead to the loop_head that goes over what it keeps")
		case LoopHead:
			c.head(n)
		case Spread:
			c.spread(n)
		case Parallel:
			c.want(n, c.g.Nodes[n.Aggregate].Kind == Aggregate, "has no aggregate")
		default:
			c.add(n, "has the unknown kind %q", n.Kind)
		}
	}
}

// Its only target is an accumulator.
func (c *checker) appends(s Set) bool {
	if s.Value == nil || len(s.Targets) != 1 || c.g.Vars[s.Targets[0]].Length == 0 {
		return false
	}
	tree, err := (&syntax.FileOptions{}).ParseExpr("", s.Append.Text, 0)
	if err != nil {
		return false
	}
	_, ok := tree.(*syntax.ListExpr)
	return ok
}

func (c *checker) want(n *Node, ok bool, otherwise string) {
	if !ok {
		c.add(n, "%s", otherwise)
	}
}

func (c *checker) head(n *Node) {
	c.want(n, n.Depth > 0, "stands outside of its loop")
	c.want(n, n.Expr != nil || n.Var != None, "has neither a condition nor elements")
	next, out := 0, 0
	for _, e := range c.g.out[n.ID] {
		switch e.Kind {
		case Continue:
			next++
		case Break:
			out++
		default:
			c.add(n, "a %s edge cannot leave a loop_head", e.Kind)
		}
	}
	c.want(n, next == 1 && out == 1, fmt.Sprintf("has %d ways into the loop and %d out of it; there must be one each", next, out))
}

// spread checks that a spread opens one branch per element, one level deeper, and has an aggregate at its own.
func (c *checker) spread(n *Node) {
	g := c.g
	c.want(n, n.Expr != nil && n.Var != None, "has no elements, or no variable for one")
	out := g.out[n.ID]
	ok := len(out) == 1 && g.Nodes[n.Aggregate].Kind == Aggregate && g.Nodes[n.Aggregate].Depth == n.Depth &&
		g.Nodes[out[0].To].Depth == n.Depth+1
	c.want(n, ok, "does not lead through one branch to its aggregate")
	c.want(n, n.Limit >= 0, fmt.Sprintf("has a limit of %d", n.Limit))
}

// regions checks that every region is inside an earlier one, and every node as deep as its region.
func (c *checker) regions() {
	g := c.g
	for i, r := range g.Regions {
		if i == 0 && r != (Region{}) || i > 0 && (r.Parent < 0 || int(r.Parent) >= i || r.Depth < g.Regions[r.Parent].Depth) {
			c.msgs = append(c.msgs, fmt.Sprintf("region %d does not stand in one before it", i))
		}
	}
	for _, n := range g.Nodes {
		if n.Region < 0 || int(n.Region) >= len(g.Regions) {
			c.add(n, "has no region %d", n.Region)
		} else if n.Depth < g.Regions[n.Region].Depth {
			c.add(n, "stands outside of its region")
		}
	}
}

// leaves describes what is wrong; "": nothing.
func (e *Edge) leaves(from, to *Node) string {
	allowed := true
	switch e.Kind {
	case Forward, Soft:
		allowed = from.Kind != Branch
	case Guard:
		allowed = from.Kind == Branch
	case Continue:
		allowed = from.Kind == LoopHead
	case Back:
		if from.Kind != LoopNext || to.Kind != LoopHead || from.Depth != to.Depth {
			return fmt.Sprintf("a back edge leads from a loop_next to the loop_head of its loop, not to %s", to.Name)
		}
	case Break:
		if to.Kind != LoopExit {
			return fmt.Sprintf("a break edge leads to a loop_exit, not to %s", to.Name)
		}
	case Exception:
		allowed = from.Kind == Action
	case Data:
	default:
		return fmt.Sprintf("an edge to %s is of the unknown kind %q", to.Name, e.Kind)
	}
	if !allowed {
		return fmt.Sprintf("a %s edge cannot leave a %s", e.Kind, from.Kind)
	}
	return ""
}
