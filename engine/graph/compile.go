package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulley/engine/ir"
)

// CompileError lists every reason why a program cannot be compiled, in the order of the text.
type CompileError []*ir.Error

// Error returns a line for each reason.
func (e CompileError) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// CompileText parses and compiles a program's text. name stands for its file in errors.
func CompileText(name string, text []byte, limits ir.Limits) (*Graph, error) {
	tree, err := ir.Parse(name, text, limits)
	if err != nil {
		return nil, err
	}
	return Compile(tree, limits)
}

// Compile expands the program's main function into a graph. It refuses, with a CompileError, unsupported constructs, names that
// nothing assigns, and a graph over a limit.
func Compile(prog *ir.Program, limits ir.Limits) (*Graph, error) {
	c := &compiler{
		functions: map[string]*ir.Function{},
		limits:    limits.WithDefaults(),
		g:         &Graph{Name: prog.File, Limits: limits},
		serial:    map[string]int{"input": 1, "output": 1}, // every graph has these two nodes
		turns:     map[*Edge]int{},
	}
	c.g.Regions = []Region{{}}
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

type compiler struct {
	functions map[string]*ir.Function
	limits    ir.Limits
	g         *Graph
	serial    map[string]int
	turns     map[*Edge]int // of guards
	errs      CompileError
	caught    int // ways from actions to handlers
	names     int

	// Of the statement being compiled:
	region RegionID
	scope  int
	tries  []*try // around it and around the calls that lead to it, outermost first
}

var errTooLarge = errors.New("graph over its limit")

type loose struct {
	from  NodeID
	kind  EdgeKind
	guard *ir.Expr
	turn  int      // index in its branch
	types []string // an exception's
	bind  VarID    // an exception's variable, or None
}

type frame struct {
	id     int
	fn     *ir.Function
	result VarID
	exits  []loose // ways of its returns
	loop   *loop   // innermost around the statement, in this frame
	depth  int
}

type loop struct {
	outer  *loop
	breaks []loose
	nexts  []loose // to the next round: continue, and the end of the body
}

func (c *compiler) program(main *ir.Function) error {
	f := c.frame(main, "", 0)
	input := c.node(&Node{Kind: Input, Name: "input", Pos: main.Pos, Frame: f.id})
	for _, in := range main.Inputs {
		c.g.Inputs = append(c.g.Inputs, in.Text)
		input.Targets = append(input.Targets, c.g.Frames[f.id].Names[in.Text])
	}
	ways, err := c.body(f, forward(input))
	if err != nil {
		return err
	}
	output := &Node{Kind: Output, Name: "output", Pos: main.Pos, Frame: f.id, Var: f.result, Required: 1, Exclusive: true}
	c.connect(ways, output)
	c.alternate()
	return nil
}

// alternate orders the guards of every branch as in the text: an arm without a statement gets its edge only where the arms
// meet.
func (c *compiler) alternate() {
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

func (c *compiler) frame(fn *ir.Function, prefix string, depth int) *frame {
	f := &frame{id: len(c.g.Frames), fn: fn, depth: depth}
	names := map[string]VarID{}
	for _, name := range assigned(fn) {
		names[name] = c.variable(prefix + name)
	}
	c.names += len(names)
	c.g.Frames = append(c.g.Frames, Frame{Names: names})
	f.result = c.variable(prefix + "%result")
	return f
}

// body compiles a function up to where all its ways out meet.
func (c *compiler) body(f *frame, ways []loose) ([]loose, error) {
	ways, err := c.block(f, f.fn.Body, ways)
	if err != nil {
		return nil, err
	}
	if len(ways) > 0 { // the end can be reached without a return
		fall := &Node{Kind: Return, Name: c.name(f.fn.Name.Text + "_end"), Pos: f.fn.Pos, Sets: c.outputs(f)}
		ways = c.then(f, ways, fall)
	}
	return append(ways, f.exits...), nil
}

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

func (c *compiler) block(f *frame, stmts []ir.Stmt, ways []loose) ([]loose, error) {
	for _, s := range stmts {
		if len(ways) == 0 {
			return nil, nil
		}
		var err error
		if ways, err = c.stmt(f, s, ways); err != nil {
			return nil, err
		}
		if err := c.bounded(s.Position()); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

// perNode bounds the ways from actions to handlers, and the names, for each node of the limit: both can grow with the square of
// the text.
const perNode = 20

func (c *compiler) bounded(pos ir.Pos) error {
	for _, grown := range []struct {
		what    string
		n, most int
	}{
		{"nodes after expansion", len(c.g.Nodes), c.limits.Nodes},
		{"ways from actions to excepts", c.caught, perNode * c.limits.Nodes},
		{"names after expansion", c.names, perNode * c.limits.Nodes},
	} {
		if grown.n > grown.most {
			c.errs = append(c.errs, ir.LimitError(pos, grown.what, grown.n, grown.most))
			return errTooLarge
		}
	}
	return nil
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
		n := &Node{Kind: Return, Name: c.name("return"), Pos: s.Pos}
		if len(s.Values) > 1 { // each by itself first, so that a failure has its position
			for _, v := range s.Values {
				n.Sets = append(n.Sets, Set{Value: c.expr(f, v), From: None})
			}
		}
		n.Sets = append(n.Sets, Set{Targets: []VarID{f.result}, Value: c.returned(f, s), From: None})
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
		return c.try(f, s, ways)
	case *ir.Sleep:
		return c.then(f, ways, &Node{Kind: Sleep, Name: c.name("sleep"), Pos: s.Pos, Expr: c.expr(f, s.Seconds)}), nil
	}
	return nil, fmt.Errorf("%s: unknown statement %T", s.Position(), s)
}

func (c *compiler) returned(f *frame, s *ir.Return) *ir.Expr {
	switch len(s.Values) {
	case 0:
		return &ir.Expr{Pos: s.Pos, Text: "None"}
	case 1:
		return c.expr(f, s.Values[0])
	}
	texts := make([]string, len(s.Values))
	for i, v := range s.Values {
		texts[i] = v.Text
	}
	return &ir.Expr{Pos: s.Values[0].Pos, Text: "[" + strings.Join(texts, ", ") + "]"}
}

func (c *compiler) assign(f *frame, s *ir.Assign, ways []loose) ([]loose, error) {
	targets := c.targets(f, s.Targets)
	switch rhs := s.Value.(type) {
	case *ir.Expr:
		set := Set{Targets: targets, Value: c.expr(f, rhs), From: None}
		if added := c.accumulates(f, s, rhs); added != nil {
			set.Append = added
		}
		return c.then(f, ways, &Node{Kind: Assign, Name: c.name("assign"), Pos: s.Pos, Sets: []Set{set}}), nil
	case *ir.Action:
		n := c.action(f, rhs, targets)
		n.unpacks(s)
		return c.then(f, ways, n), nil
	case *ir.Call:
		result, ways, err := c.call(f, rhs, ways)
		if err != nil || len(targets) == 0 || len(ways) == 0 {
			return ways, err
		}
		n := &Node{Kind: Assign, Name: c.name("assign"), Pos: s.Pos, Sets: []Set{{Targets: targets, From: result}}}
		return c.then(f, ways, n), nil
	case *ir.Spread:
		agg, err := c.spread(f, rhs, ways)
		return c.collected(s, targets, agg), err
	case *ir.Parallel:
		agg, err := c.parallel(f, rhs, ways)
		return c.collected(s, targets, agg), err
	}
	return nil, fmt.Errorf("%s: unknown right-hand side %T", s.Pos, s.Value)
}

func (c *compiler) collected(s *ir.Assign, targets []VarID, agg *Node) []loose {
	if agg == nil {
		return nil
	}
	agg.Targets = targets
	agg.unpacks(s)
	return forward(agg)
}

func (n *Node) unpacks(s *ir.Assign) {
	if len(s.Targets) > 1 {
		n.Unpacks = s.Pos
	}
}

func (c *compiler) action(f *frame, a *ir.Action, targets []VarID) *Node {
	n := &Node{Kind: Action, Name: c.name(a.Name), Pos: a.Pos, Action: a.Name, Targets: targets, Required: 1, Timeout: a.Timeout}
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
	return n
}

func (c *compiler) branch(f *frame, s *ir.If, ways []loose) ([]loose, error) {
	n := c.connectIn(f, ways, &Node{Kind: Branch, Name: c.name("if"), Pos: s.Pos, Required: 1})
	var out []loose
	for turn, arm := range s.Arms {
		ends, err := c.block(f, arm.Body, []loose{{from: n.ID, kind: Guard, guard: c.expr(f, arm.Cond), turn: turn, bind: None}})
		if err != nil {
			return nil, err
		}
		out = append(out, ends...)
	}
	ends, err := c.block(f, s.Else, []loose{{from: n.ID, kind: Guard, turn: len(s.Arms), bind: None}})
	if err != nil {
		return nil, err
	}
	if out = append(out, ends...); len(out) == 0 {
		return nil, nil
	}
	return c.join(f, out, "endif", s.Pos), nil
}
