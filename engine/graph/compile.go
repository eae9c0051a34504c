package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulley/engine/ir"
)

// CompileError is every reason for which a program cannot be compiled, in the order of the text.
type CompileError []*ir.Error

// Error gives a line for each reason.
func (e CompileError) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Compile expands the program's main function into a graph. A construct that is not compiled, a name
// that nothing assigns, and a graph over a limit are refused with a CompileError.
func Compile(prog *ir.Program, limits ir.Limits) (*Graph, error) {
	c := &compiler{
		functions: map[string]*ir.Function{},
		limits:    limits.WithDefaults(),
		g:         &Graph{Name: prog.File, Limits: limits},
		serial:    map[string]int{"input": 1, "output": 1}, // taken by the two nodes that every graph has
		turns:     map[*Edge]int{},
	}
	for _, f := range prog.Functions {
		c.functions[f.Name.Text] = f
	}
	main := c.functions["main"]
	if main == nil {
		return nil, CompileError{ir.Errorf(ir.Pos{File: prog.File, Line: 1, Col: 1}, "no function main; write fn main(input: [...], output: [...]):")}
	}
	err := c.program(main)
	if len(c.errs) > 0 {
		return nil, c.errs
	}
	if err != nil {
		return nil, err
	}
	if err := c.g.Check(); err != nil {
		return nil, err
	}
	return c.g, nil
}

// compiler holds the graph that grows and what has been refused.
type compiler struct {
	functions map[string]*ir.Function
	limits    ir.Limits
	g         *Graph
	serial    map[string]int // how many nodes or variables have asked for a name
	turns     map[*Edge]int  // of guards
	errs      CompileError
}

// errTooLarge stops a compilation whose graph has grown over its limit.
var errTooLarge = errors.New("graph over its limit")

// loose is an edge that has left its node and not reached one yet.
type loose struct {
	from  NodeID
	kind  EdgeKind
	guard *ir.Expr
	turn  int // of a guard: its place among those of its branch
}

// frame is one expansion of a function.
type frame struct {
	id     int // in Graph.Frames
	fn     *ir.Function
	result VarID
	exits  []loose // of its returns
	loop   *loop   // the innermost one around the statement being compiled, within this frame
	depth  int     // of the statement being compiled
}

// loop is one loop around the statement being compiled.
type loop struct {
	outer  *loop
	breaks []loose
	nexts  []loose // ways to the next round: continue, and the end of the body
}

func (c *compiler) program(main *ir.Function) error {
	f := c.frame(main, "", 0)
	input := c.node(&Node{Kind: Input, Name: "input", Pos: main.Pos, Frame: f.id})
	for _, in := range main.Inputs {
		c.g.Inputs = append(c.g.Inputs, in.Text)
		input.Targets = append(input.Targets, c.g.Frames[f.id].Names[in.Text])
	}
	ways, err := c.body(f, []loose{{from: input.ID, kind: Forward}})
	if err != nil {
		return err
	}
	output := &Node{Kind: Output, Name: "output", Pos: main.Pos, Frame: f.id, Var: f.result, Required: 1, Exclusive: true}
	c.connect(ways, output)
	c.takeTurns()
	return nil
}

// takeTurns puts the guards of every branch into the order of the text: an arm without a statement of
// its own gets its edge only where the arms meet.
func (c *compiler) takeTurns() {
	places := map[NodeID][]int{}
	for i, e := range c.g.Edges {
		if e.Kind == Guard {
			places[e.From] = append(places[e.From], i)
		}
	}
	for _, at := range places {
		guards := make([]*Edge, len(at))
		for i, place := range at {
			guards[i] = c.g.Edges[place]
		}
		slices.SortFunc(guards, func(a, b *Edge) int { return c.turns[a] - c.turns[b] })
		for i, place := range at {
			c.g.Edges[place] = guards[i]
		}
	}
}

// frame makes the variables of one expansion of a function.
func (c *compiler) frame(fn *ir.Function, prefix string, depth int) *frame {
	f := &frame{id: len(c.g.Frames), fn: fn, depth: depth}
	names := map[string]VarID{}
	for _, name := range assigned(fn) {
		names[name] = c.variable(prefix + name)
	}
	c.g.Frames = append(c.g.Frames, Frame{Names: names})
	f.result = c.variable(prefix + "%result")
	return f
}

// body compiles a function from its first statement to where all its ways out meet.
func (c *compiler) body(f *frame, ways []loose) ([]loose, error) {
	ways, err := c.block(f, f.fn.Body, ways)
	if err != nil {
		return nil, err
	}
	if len(ways) > 0 { // the end can be fallen off
		fall := &Node{Kind: Return, Name: c.name(f.fn.Name.Text + "_end"), Pos: f.fn.Pos, Sets: c.outputs(f)}
		ways = c.then(f, ways, fall)
	}
	return append(ways, f.exits...), nil
}

// outputs is what a function gives that ends without a return.
func (c *compiler) outputs(f *frame) []Set {
	out := f.fn.Outputs
	if len(out) == 1 {
		c.known(f, out[0].Pos, out[0].Text)
		return []Set{{Targets: []VarID{f.result}, Value: &ir.Expr{Pos: out[0].Pos, Text: out[0].Text}, From: None}}
	}
	names := make([]string, len(out))
	for i, o := range out {
		c.known(f, o.Pos, o.Text)
		names[i] = o.Text
	}
	text := "[" + strings.Join(names, ", ") + "]"
	if len(out) == 0 {
		text = "None"
	}
	return []Set{{Targets: []VarID{f.result}, Value: &ir.Expr{Pos: f.fn.Pos, Text: text}, From: None}}
}

// block compiles statements one after the other. What cannot be reached is dropped.
func (c *compiler) block(f *frame, stmts []ir.Stmt, ways []loose) ([]loose, error) {
	for _, s := range stmts {
		if len(ways) == 0 {
			return nil, nil
		}
		var err error
		if ways, err = c.stmt(f, s, ways); err != nil {
			return nil, err
		}
		if len(c.g.Nodes) > c.limits.Nodes {
			c.errs = append(c.errs, ir.LimitError(s.Position(), "nodes after expansion", len(c.g.Nodes), c.limits.Nodes))
			return nil, errTooLarge
		}
	}
	return ways, nil
}

func (c *compiler) stmt(f *frame, s ir.Stmt, ways []loose) ([]loose, error) {
	switch s := s.(type) {
	case *ir.Assign:
		return c.assign(f, s, ways)
	case *ir.If:
		return c.branch(f, s, ways)
	case *ir.For:
		return c.forLoop(f, s, ways)
	case *ir.While:
		return c.whileLoop(f, s, ways)
	case *ir.Return:
		n := &Node{Kind: Return, Name: c.name("return"), Pos: s.Pos, Sets: []Set{{Targets: []VarID{f.result}, Value: c.returned(f, s), From: None}}}
		f.exits = append(f.exits, c.then(f, ways, n)...)
		return nil, nil
	case *ir.Break:
		f.loop.breaks = append(f.loop.breaks, relabel(ways, Break)...)
		return nil, nil
	case *ir.Continue:
		f.loop.nexts = append(f.loop.nexts, ways...)
		return nil, nil
	case *ir.Pass:
		return ways, nil
	case *ir.Try:
		c.refuse(s.Pos, "try", "let the error end the instance, or give the action a retry")
	case *ir.Sleep:
		c.refuse(s.Pos, "sleep", "call an action that waits")
	default:
		return nil, fmt.Errorf("%s: unknown statement %T", s.Position(), s)
	}
	return ways, nil
}

// refuse notes a construct of the language that this compiler does not take.
func (c *compiler) refuse(pos ir.Pos, construct, instead string) {
	c.errs = append(c.errs, ir.Errorf(pos, "%s is not supported by the scheduler so far; %s", construct, instead))
}

// returned is the expression of a return statement.
func (c *compiler) returned(f *frame, s *ir.Return) *ir.Expr {
	switch len(s.Values) {
	case 0:
		return &ir.Expr{Pos: s.Pos, Text: "None"}
	case 1:
		return c.expr(f, s.Values[0])
	}
	texts := make([]string, len(s.Values))
	for i, v := range s.Values {
		texts[i] = c.expr(f, v).Text
	}
	return &ir.Expr{Pos: s.Values[0].Pos, Text: "[" + strings.Join(texts, ", ") + "]"}
}

func (c *compiler) assign(f *frame, s *ir.Assign, ways []loose) ([]loose, error) {
	targets := c.targets(f, s.Targets)
	switch rhs := s.Value.(type) {
	case *ir.Expr:
		n := &Node{Kind: Assign, Name: c.name("assign"), Pos: s.Pos, Sets: []Set{{Targets: targets, Value: c.expr(f, rhs), From: None}}}
		return c.then(f, ways, n), nil
	case *ir.Action:
		return c.then(f, ways, c.action(f, rhs, targets)), nil
	case *ir.Call:
		result, ways, err := c.call(f, rhs, ways)
		if err != nil || len(targets) == 0 || len(ways) == 0 {
			return ways, err
		}
		n := &Node{Kind: Assign, Name: c.name("assign"), Pos: s.Pos, Sets: []Set{{Targets: targets, From: result}}}
		return c.then(f, ways, n), nil
	case *ir.Spread:
		return c.spread(f, rhs, targets, ways), nil
	case *ir.Parallel:
		return c.parallel(f, rhs, targets, ways), nil
	}
	return nil, fmt.Errorf("%s: unknown right-hand side %T", s.Pos, s.Value)
}

// action makes the node of an action; it has no edges yet.
func (c *compiler) action(f *frame, a *ir.Action, targets []VarID) *Node {
	n := &Node{Kind: Action, Name: c.name(a.Name), Pos: a.Pos, Action: a.Name, Targets: targets, Required: 1}
	for _, arg := range a.Args {
		n.Args = append(n.Args, Arg{Name: arg.Name.Text, Value: c.expr(f, arg.Value)})
	}
	for _, r := range a.Retries {
		retry := Retry{Count: r.Count, Backoff: r.Backoff}
		for _, t := range r.Types {
			retry.Types = append(retry.Types, t.Text)
		}
		n.Retries = append(n.Retries, retry)
	}
	if a.Timeout > 0 {
		c.refuse(a.Pos, "the timeout policy of @"+a.Name, "leave it out")
	}
	return n
}

// call expands a function in place: its inputs are set in the caller's frame, its other variables
// start without a value, and all its ways out meet in a join.
func (c *compiler) call(f *frame, call *ir.Call, ways []loose) (VarID, []loose, error) {
	fn := c.functions[call.Name]
	if fn == nil {
		return None, nil, CompileError{ir.Errorf(call.Pos, "no function %s in this program", call.Name)}
	}
	callee := c.frame(fn, c.name(call.Name)+".", f.depth)
	names := c.g.Frames[callee.id].Names
	enter := &Node{Kind: Assign, Name: c.name(call.Name + "_enter"), Pos: call.Pos}
	for _, name := range assigned(fn) {
		enter.Clear = append(enter.Clear, names[name])
	}
	for _, arg := range call.Args {
		enter.Sets = append(enter.Sets, Set{Targets: []VarID{names[arg.Name.Text]}, Value: c.expr(f, arg.Value), From: None})
	}
	ways, err := c.body(callee, c.then(f, ways, enter))
	if err != nil || len(ways) == 0 {
		return callee.result, nil, err
	}
	return callee.result, c.meet(f, ways, call.Name+"_exit", call.Pos), nil
}

func (c *compiler) branch(f *frame, s *ir.If, ways []loose) ([]loose, error) {
	n := c.connectIn(f, ways, &Node{Kind: Branch, Name: c.name("if"), Pos: s.Pos, Required: 1})
	var out []loose
	for turn, arm := range s.Arms {
		ends, err := c.block(f, arm.Body, []loose{{from: n.ID, kind: Guard, guard: c.expr(f, arm.Cond), turn: turn}})
		if err != nil {
			return nil, err
		}
		out = append(out, ends...)
	}
	ends, err := c.block(f, s.Else, []loose{{from: n.ID, kind: Guard, turn: len(s.Arms)}})
	if err != nil {
		return nil, err
	}
	if out = append(out, ends...); len(out) == 0 {
		return nil, nil
	}
	return c.meet(f, out, "endif", s.Pos), nil
}

// spread makes a node that opens one run of the action per element, and the aggregate they meet in.
func (c *compiler) spread(f *frame, s *ir.Spread, targets []VarID, ways []loose) []loose {
	action, ok := s.Do.(*ir.Action)
	if !ok {
		c.refuse(s.Do.Position(), "spread over a function", "spread over an action")
		return ways
	}
	if s.Limit > 0 {
		c.refuse(s.Pos, "the limit of a spread", "leave it out")
		return ways
	}
	item := c.variable(c.name("%" + s.Item.Text))
	n := c.connectIn(f, ways, &Node{Kind: Spread, Name: c.name("spread"), Pos: s.Pos, Expr: c.expr(f, s.Over), Var: item, Required: 1})
	names := map[string]VarID{}
	for name, v := range c.g.Frames[f.id].Names {
		names[name] = v
	}
	names[s.Item.Text] = item
	inner := &frame{id: len(c.g.Frames), fn: f.fn, depth: f.depth + 1}
	c.g.Frames = append(c.g.Frames, Frame{Names: names})

	value := c.variable(c.name("%element"))
	each := c.connectIn(inner, []loose{{from: n.ID, kind: Forward}}, c.action(inner, action, []VarID{value}))
	agg := c.aggregate(f, n, s.Pos, targets)
	c.g.Edges = append(c.g.Edges, &Edge{From: each.ID, To: agg.ID, Kind: Forward, Var: value})
	return []loose{{from: agg.ID, kind: Forward}}
}

// parallel makes a node that opens all its actions, and the aggregate they meet in.
func (c *compiler) parallel(f *frame, s *ir.Parallel, targets []VarID, ways []loose) []loose {
	n := c.connectIn(f, ways, &Node{Kind: Parallel, Name: c.name("parallel"), Pos: s.Pos, Required: 1})
	var branches []*Node
	for _, do := range s.Do {
		action, ok := do.(*ir.Action)
		if !ok {
			c.refuse(do.Position(), "a function in parallel", "call actions there")
			continue
		}
		value := c.variable(c.name("%branch"))
		branches = append(branches, c.connectIn(f, []loose{{from: n.ID, kind: Forward}}, c.action(f, action, []VarID{value})))
	}
	agg := c.aggregate(f, n, s.Pos, targets)
	for i, b := range branches {
		c.g.Edges = append(c.g.Edges, &Edge{From: b.ID, To: agg.ID, Kind: Forward, Var: b.Targets[0], Element: i})
	}
	agg.Required = len(branches)
	return []loose{{from: agg.ID, kind: Forward}}
}

// aggregate makes the node where the branches of fork meet.
func (c *compiler) aggregate(f *frame, fork *Node, pos ir.Pos, targets []VarID) *Node {
	name := c.name(fork.Name + "_all")
	agg := c.node(&Node{Kind: Aggregate, Name: name, Pos: pos, Targets: targets, Var: c.variable("%" + name), Frame: f.id, Depth: f.depth})
	fork.Aggregate = agg.ID
	return agg
}
