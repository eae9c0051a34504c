package graph

import (
	"slices"

	"pulley/engine/ir"
)

// Each is what runs for each element of a list. Its nodes may read what comes before the whole, the element, and each other.
// Map, For or Fold makes it a node.
type Each struct {
	Body
	over  *ir.Expr
	item  VarID
	head  *Node // of For and Fold
	folds bool
}

// Each starts what runs for each element of the list over. Expressions in the body read an element as item. Expressions after
// it read as name the list of the Output values, in the order of the elements; after a Fold, the last value.
func (o *Body) Each(name, item, over string) *Each {
	g := o.b.g
	e := &Each{over: X(over), Body: Body{
		b: o.b, outer: o, name: name, depth: o.depth + 1, values: map[string]binding{},
		frame: len(g.Frames), region: RegionID(len(g.Regions)),
	}}
	g.Frames = append(g.Frames, Frame{})
	g.Regions = append(g.Regions, Region{Parent: o.region, Depth: o.depth})
	o.b.bodies, o.b.eaches = append(o.b.bodies, &e.Body), append(o.b.eaches, e)
	e.item = e.value(item, nil)
	return e
}

// Map runs the body for the elements concurrently, at most limit at once; zero means all.
func (e *Each) Map(limit int) *NodeBuilder {
	nb := e.becomes(&Node{Kind: Spread, Expr: e.over, Limit: limit})
	all := e.outer.place(e.name+"_all", &Node{Kind: Aggregate, Targets: nb.n.Targets})
	all.Region, all.Var = e.region, e.outer.variable("%"+all.Name)
	nb.n.Var, nb.n.Targets, nb.n.Aggregate = e.item, nil, all.ID
	nb.last = all
	return nb
}

// For runs the body for one element after the other. In the body, its own name is the list of the values of earlier rounds.
func (e *Each) For() *NodeBuilder {
	nb := e.takesTurns(X("[]"))
	e.b.g.Vars[nb.n.Sets[0].Targets[0]].Length = e.outer.variable("%len(" + nb.n.Name + ")")
	return nb
}

// Fold runs the body for one element after the other, and keeps the last value only. In the body, its own name is the value of the
// round before, and initial in the first round.
func (e *Each) Fold(initial string) *NodeBuilder {
	nb := e.takesTurns(X(initial))
	nb.initial, e.folds = nb.n.Sets[0].Value, true
	return nb
}

// takesTurns makes a node of a loop over the elements, whose own name has the value initial before the first round.
func (e *Each) takesTurns(initial *ir.Expr) *NodeBuilder {
	o, g := e.outer, e.b.g
	nb := e.becomes(&Node{Kind: Assign})
	nb.n.Targets, nb.n.Sets = nil, []Set{{Targets: nb.n.Targets, Value: initial, From: None}}
	init := o.place(e.name+"_init", &Node{Kind: LoopInit, Required: 1, Expr: e.over})
	head := o.place(e.name+"_head", &Node{Kind: LoopHead, Required: 1, Targets: []VarID{e.item}})
	init.Var = o.variable("%for(" + nb.n.Name + ")")
	head.Var, head.Depth, head.Region = init.Var, e.depth, e.region
	exit := o.place(e.name+"_exit", &Node{Kind: LoopExit, Required: 1, Exclusive: true})
	for _, edge := range []Edge{
		{From: nb.n.ID, To: init.ID, Kind: Forward, Var: None},
		{From: init.ID, To: head.ID, Kind: Forward, Var: None},
		{From: head.ID, To: exit.ID, Kind: Break, Var: None},
	} {
		g.Edges = append(g.Edges, &edge)
	}
	g.Regions[e.region].Loop, g.Regions[e.region].Depth = true, e.depth
	e.head, nb.last = head, exit
	return nb
}

// becomes adds the node to the outer body; its value is the list of the elements' values.
func (e *Each) becomes(n *Node) *NodeBuilder {
	nb := e.outer.add(e.name, n)
	if e.node != nil {
		nb.mistake("is a Map, For or Fold already; begin another Each")
	}
	n.Targets = []VarID{e.outer.value(e.name, nb)}
	nb.expr = e.over
	e.node = nb
	return nb
}

func (e *Each) finish() {
	switch {
	case e.node == nil:
		e.b.mistake("each %s%s: is no Map, For or Fold; add one", e.outer.prefix(), e.name)
		return
	case e.output == nil:
		e.node.mistake("no output; add Output(...) with what an element gives")
		return
	}
	e.value("output", e.output)
	first := e.begins()
	if e.head != nil {
		e.rounds(first)
	} else {
		e.branches(first)
	}
	reached := map[*NodeBuilder]bool{e.output: true}
	for todo := []*NodeBuilder{e.output}; len(todo) > 0; todo = todo[1:] {
		for _, from := range todo[0].before() {
			if !reached[from] {
				reached[from] = true
				todo = append(todo, from)
			}
		}
	}
	for _, nb := range e.nodes {
		if !reached[nb] {
			nb.mistake("leads nowhere; let %s come after it", e.output.n.Name)
		}
	}
}

func (n *NodeBuilder) before() []*NodeBuilder {
	all := slices.Concat(n.hard, n.soft, n.from)
	return slices.DeleteFunc(all, func(from *NodeBuilder) bool { return from == nil })
}

// begins returns the node that starts a run of the body; nil: none.
func (e *Each) begins() *Node {
	var starts []*Node
	for _, nb := range e.nodes {
		if nb.starts() {
			starts = append(starts, nb.n)
		}
	}
	switch len(starts) {
	case 0:
		return nil // all are in cycles, which Check reports
	case 1:
		return starts[0]
	}
	first := e.inside("_begin", &Node{Kind: Join})
	for _, n := range starts {
		e.b.g.Edges = append(e.b.g.Edges, &Edge{From: first.ID, To: n.ID, Kind: Forward, Var: None})
	}
	return first
}

func (e *Each) inside(suffix string, n *Node) *Node {
	e.outer.place(e.name+suffix, n)
	n.Depth, n.Region, n.Frame, n.Required = e.depth, e.region, e.frame, 1
	return n
}

func (e *Each) branches(first *Node) {
	g, last, value := e.b.g, e.output.n, e.values["output"].v
	last.Sets = []Set{{Targets: []VarID{value}, Value: e.output.expr, From: None}}
	if first != nil {
		g.Edges = append(g.Edges, &Edge{From: e.node.n.ID, To: first.ID, Kind: Forward, Var: None})
	}
	g.Edges = append(g.Edges, &Edge{From: last.ID, To: e.node.last.ID, Kind: Forward, Var: value})
}

// rounds makes every element a round of the loop, which appends its value to the list, or replaces the value by it.
func (e *Each) rounds(first *Node) {
	g, last, output := e.b.g, e.output.n, e.values["output"].v
	last.Sets = []Set{{Targets: []VarID{output}, Value: e.output.expr, From: None}}
	own := []VarID{e.outer.values[e.name].v}
	name, set := "_append", Set{Targets: own, Value: X(e.name + " + [output]"), Append: X("[output]"), From: None}
	if e.folds {
		name, set = "_fold", Set{Targets: own, From: output}
	}
	adds := e.inside(name, &Node{Kind: Assign, Sets: []Set{set}})
	next := e.inside("_next", &Node{Kind: LoopNext, Exclusive: true})
	if first != nil {
		g.Edges = append(g.Edges, &Edge{From: e.head.ID, To: first.ID, Kind: Continue, Var: None})
	}
	g.Edges = append(g.Edges, &Edge{From: last.ID, To: adds.ID, Kind: Forward, Var: None},
		&Edge{From: adds.ID, To: next.ID, Kind: Forward, Var: None},
		&Edge{From: next.ID, To: e.head.ID, Kind: Back, Var: None})
}
