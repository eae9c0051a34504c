package graph

import (
	"fmt"

	"pulley/engine/ir"
)

// spread compiles
//
//	spread ─► first node of the branch … last ─► aggregate
//
// The branch is one level deeper: the last part of its runs' paths is the element's index, and every element has its own copy of
// the variables.
func (c *compiler) spread(f *frame, s *ir.Spread, ways []loose) (*Node, error) {
	n := c.connectIn(f, ways, &Node{Kind: Spread, Name: c.name("spread"), Pos: s.Pos, Expr: c.expr(f, s.Over), Limit: s.Limit, Required: 1})
	region, scope := c.region, c.scope
	c.enter(Region{Depth: f.depth})
	c.scope = f.depth + 1
	n.Var = c.variable(c.name("%" + s.Item.Text))
	names := map[string]VarID{}
	for name, v := range c.g.Frames[f.id].Names {
		names[name] = v
	}
	names[s.Item.Text] = n.Var
	c.names += len(names)
	each := &frame{id: len(c.g.Frames), fn: f.fn, depth: f.depth + 1}
	c.g.Frames = append(c.g.Frames, Frame{Names: names})

	value, ends, err := c.do(each, s.Do, forward(n), "%element")
	if err != nil {
		return nil, err
	}
	c.scope = scope
	agg := c.aggregate(f, n, s.Pos)
	c.region = region
	for _, w := range ends {
		c.g.Edges = append(c.g.Edges, &Edge{From: w.from, To: agg.ID, Kind: Forward, Var: value})
	}
	return agg, nil
}

func (c *compiler) parallel(f *frame, s *ir.Parallel, ways []loose) (*Node, error) {
	n := c.connectIn(f, ways, &Node{Kind: Parallel, Name: c.name("parallel"), Pos: s.Pos, Required: 1})
	region := c.region
	c.enter(Region{Depth: f.depth})
	var edges []*Edge
	for i, do := range s.Do {
		value, ends, err := c.do(f, do, forward(n), "%branch")
		if err != nil {
			return nil, err
		}
		for _, w := range ends {
			edges = append(edges, &Edge{From: w.from, Kind: Forward, Var: value, Element: i})
		}
	}
	agg := c.aggregate(f, n, s.Pos)
	c.region = region
	agg.Required = len(edges)
	for _, e := range edges {
		e.To = agg.ID
	}
	c.g.Edges = append(c.g.Edges, edges...)
	return agg, nil
}

// do returns the variable with the branch's value, and the way out: none if it never ends.
func (c *compiler) do(f *frame, do ir.RHS, ways []loose, name string) (VarID, []loose, error) {
	if err := c.bounded(do.Position()); err != nil {
		return None, nil, err
	}
	switch do := do.(type) {
	case *ir.Action:
		value := c.variable(c.name(name))
		return value, c.then(f, ways, c.action(f, do, []VarID{value})), nil
	case *ir.Call:
		return c.call(f, do, ways)
	}
	return None, nil, fmt.Errorf("%s: unknown call %T", do.Position(), do)
}

func (c *compiler) aggregate(f *frame, fork *Node, pos ir.Pos) *Node {
	name := c.name(fork.Name + "_all")
	agg := c.node(&Node{Kind: Aggregate, Name: name, Pos: pos, Var: c.variable("%" + name), Frame: f.id, Depth: f.depth})
	fork.Aggregate = agg.ID
	return agg
}

func (c *compiler) enter(r Region) {
	r.Parent = c.region
	c.region = RegionID(len(c.g.Regions))
	c.g.Regions = append(c.g.Regions, r)
}
