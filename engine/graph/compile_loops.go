package graph

import "pulley/engine/ir"

// forLoop compiles
//
//	loop_init ─► loop_head ─continue─► body ─► loop_next ─back─► loop_head
//	                 └──break──► loop_exit ◄──break── body
//
// The head and the body are one level deeper: the last part of their runs' paths is the iteration.
func (c *compiler) forLoop(f *frame, s *ir.For, ways []loose) ([]loose, error) {
	list := c.variable(c.name("%for"))
	init := &Node{Kind: LoopInit, Pos: s.Pos, Expr: c.expr(f, s.Over), Var: list}
	head := &Node{Kind: LoopHead, Pos: s.Pos, Var: list, Targets: c.targets(f, s.Targets)}
	return c.loop(f, init, head, s.Body, ways)
}

// The head evaluates the condition.
func (c *compiler) whileLoop(f *frame, s *ir.While, ways []loose) ([]loose, error) {
	init := &Node{Kind: LoopInit, Pos: s.Pos, Var: None}
	head := &Node{Kind: LoopHead, Pos: s.Pos, Var: None, Expr: c.expr(f, s.Cond)}
	return c.loop(f, init, head, s.Body, ways)
}

func (c *compiler) loop(f *frame, init, head *Node, body []ir.Stmt, ways []loose) ([]loose, error) {
	name := c.name("loop")
	init.Name, head.Name = c.name(name+"_init"), c.name(name+"_head")
	init.Required, head.Required = 1, 1
	c.connectIn(f, ways, init)

	region := c.region
	f.depth++
	c.enter(Region{Loop: true, Depth: f.depth})
	c.connectIn(f, forward(init), head)
	l := &loop{outer: f.loop}
	f.loop = l
	ends, err := c.block(f, body, []loose{{from: head.ID, kind: Continue, bind: None}})
	if err != nil {
		return nil, err
	}
	if ends = append(ends, l.nexts...); len(ends) > 0 {
		next := c.connectIn(f, relabelMany(ends), &Node{Kind: LoopNext, Name: c.name(name + "_next"), Pos: head.Pos, Required: 1, Exclusive: true})
		c.g.Edges = append(c.g.Edges, &Edge{From: next.ID, To: head.ID, Kind: Back, Var: None})
	}
	f.loop = l.outer
	f.depth--
	c.region = region

	exits := append([]loose{{from: head.ID, kind: Break, bind: None}}, l.breaks...)
	exit := c.connectIn(f, exits, &Node{Kind: LoopExit, Name: c.name(name + "_exit"), Pos: head.Pos, Required: 1, Exclusive: true})
	return forward(exit), nil
}

// Only one way can be taken. A single way needs no join.
func (c *compiler) join(f *frame, ways []loose, name string, pos ir.Pos) []loose {
	if len(ways) == 1 {
		return ways
	}
	n := c.connectIn(f, ways, &Node{Kind: Join, Name: c.name(name), Pos: pos, Required: 1, Exclusive: true})
	return forward(n)
}

func forward(n *Node) []loose { return []loose{{from: n.ID, kind: Forward, bind: None}} }

func (c *compiler) then(f *frame, ways []loose, n *Node) []loose {
	c.connectIn(f, ways, n)
	if n.Kind == Action {
		c.catch(n)
	}
	return forward(n)
}

func (c *compiler) connectIn(f *frame, ways []loose, n *Node) *Node {
	n.Frame, n.Depth, n.Required = f.id, f.depth, 1
	return c.connect(ways, n)
}

// connect adds a node and its incoming edges. Forward edges of which only one can be taken become a soft group, which counts
// once.
func (c *compiler) connect(ways []loose, n *Node) *Node {
	c.node(n)
	for _, w := range relabelMany(ways) {
		e := &Edge{From: w.from, To: n.ID, Kind: w.kind, Guard: w.guard, Types: w.types, Var: w.bind}
		c.g.Edges = append(c.g.Edges, e)
		c.turns[e] = w.turn
	}
	return n
}

func (c *compiler) node(n *Node) *Node {
	n.ID, n.Region = NodeID(len(c.g.Nodes)), c.region
	switch n.Kind {
	case LoopInit, LoopHead, Spread, Aggregate, Output:
	default:
		n.Var = None
	}
	c.g.Nodes = append(c.g.Nodes, n)
	return n
}

func relabelMany(ways []loose) []loose {
	if len(ways) == 1 {
		return ways
	}
	out := make([]loose, len(ways))
	for i, w := range ways {
		if w.kind == Forward {
			w.kind = Soft
		}
		out[i] = w
	}
	return out
}

// Guards keep their kind.
func relabel(ways []loose, kind EdgeKind) []loose {
	out := make([]loose, len(ways))
	for i, w := range ways {
		if w.kind == Forward {
			w.kind = kind
		}
		out[i] = w
	}
	return out
}
