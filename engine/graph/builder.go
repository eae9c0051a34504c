package graph

import (
	"errors"
	"fmt"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Builder makes a graph in Go. Nodes run as soon as what they come after has ended, side by side
// where nothing orders them. Its methods note mistakes, and Build reports all of them.
type Builder struct {
	g      *Graph
	names  map[string]VarID
	nodes  []*NodeBuilder
	output *NodeBuilder
	errs   []error
	built  bool
}

// NodeBuilder is a node that a Builder makes.
type NodeBuilder struct {
	b     *Builder
	n     *Node
	hard  []*NodeBuilder
	soft  []*NodeBuilder
	cases []branchCase

	isCase bool // of some branch
	elses  int
}

type branchCase struct {
	guard *ir.Expr
	to    *NodeBuilder
}

// New starts a graph whose instances take an object with the given names as input.
func New(name string, inputs ...string) *Builder {
	b := &Builder{g: &Graph{Name: name, Inputs: inputs}, names: map[string]VarID{}}
	in := b.add(&Node{Kind: Input, Name: "input"})
	for _, name := range inputs {
		in.n.Targets = append(in.n.Targets, b.variable(name))
	}
	return b
}

// Limits sets the limits that the graph is built and run with. The zero Limits means the defaults.
func (b *Builder) Limits(l ir.Limits) *Builder {
	b.g.Limits = l
	return b
}

// X makes an expression of its text. A mistake in it is reported by Build.
func X(text string) *ir.Expr { return &ir.Expr{Text: text} }

// Action adds an action node. Expressions read its value by the node's name, which must be an
// identifier; action is the name that workers know.
func (b *Builder) Action(name, action string, args ...Arg) *NodeBuilder {
	nb := b.add(&Node{Kind: Action, Name: name, Action: action, Args: args})
	nb.n.Targets = []VarID{b.variable(name)}
	return nb
}

// Branch adds a node that goes on to exactly one of its cases.
func (b *Builder) Branch(name string) *NodeBuilder {
	return b.add(&Node{Kind: Branch, Name: name})
}

// Output adds the node that ends the instance with the value of an expression. A graph has one.
func (b *Builder) Output(value string) *NodeBuilder {
	nb := b.add(&Node{Kind: Output, Name: "output", Expr: X(value)})
	if b.output != nil {
		b.errs = append(b.errs, errors.New("output: there is one already; make its value a list"))
	}
	b.output = nb
	return nb
}

// After makes the node wait for every one of the nodes (hard edges).
func (n *NodeBuilder) After(nodes ...*NodeBuilder) *NodeBuilder {
	n.hard = append(n.hard, nodes...)
	return n
}

// AfterAny makes the node wait for one of the nodes, whichever ends first (soft edges). All calls of
// it together are one group.
func (n *NodeBuilder) AfterAny(nodes ...*NodeBuilder) *NodeBuilder {
	n.soft = append(n.soft, nodes...)
	return n
}

// Retry adds a retry policy: count attempts after the first, on the types or, without any, on all.
func (n *NodeBuilder) Retry(r Retry) *NodeBuilder {
	if n.n.Kind != Action || r.Count < 0 || r.Backoff < 0 {
		n.b.mistake("node %s: a retry is for actions, and its count and backoff are not below 0", n.n.Name)
	}
	n.n.Retries = append(n.n.Retries, r)
	return n
}

// OnErrorContinue lets what comes after the action run when it failed; its value is then the error,
// for which isexception holds.
func (n *NodeBuilder) OnErrorContinue() *NodeBuilder {
	if n.n.Kind != Action {
		n.b.mistake("node %s: only an action can fail and be gone on from; leave OnErrorContinue out", n.n.Name)
	}
	n.n.Continue = true
	return n
}

// Case goes on to a node where the guard holds and none before it did.
func (n *NodeBuilder) Case(guard string, to *NodeBuilder) *NodeBuilder {
	return n.way(X(guard), to)
}

// Else goes on to a node where no guard held, wherever it stands among the cases.
func (n *NodeBuilder) Else(to *NodeBuilder) *NodeBuilder {
	if n.elses++; n.elses > 1 {
		n.b.mistake("node %s: has two elses; make one of them a case", n.n.Name)
	}
	return n.way(nil, to)
}

func (n *NodeBuilder) way(guard *ir.Expr, to *NodeBuilder) *NodeBuilder {
	n.cases = append(n.cases, branchCase{guard, to})
	if to != nil {
		to.isCase = true
	}
	return n
}

// mistake notes what Build will report.
func (b *Builder) mistake(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// Build checks the graph and gives it, once. The error lists everything that is wrong.
func (b *Builder) Build() (*Graph, error) {
	if b.built {
		return nil, fmt.Errorf("graph %s: is built already; keep what Build gave", b.g.Name)
	}
	b.built = true
	b.g.Frames = []Frame{{Names: b.names}}
	if b.output == nil {
		b.errs = append(b.errs, fmt.Errorf("graph %s: no output; add Output(...)", b.g.Name))
	}
	for _, nb := range b.nodes {
		b.edges(nb)
	}
	for _, nb := range b.nodes {
		b.expressions(nb)
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	if err := b.g.Check(); err != nil {
		return nil, err
	}
	return b.g, nil
}

func (b *Builder) add(n *Node) *NodeBuilder {
	n.ID, n.Var = NodeID(len(b.g.Nodes)), None
	b.g.Nodes = append(b.g.Nodes, n)
	nb := &NodeBuilder{b: b, n: n}
	b.nodes = append(b.nodes, nb)
	return nb
}

func (b *Builder) variable(name string) VarID {
	if _, err := expr.Compile(X(name), b.g.Limits); err != nil || !identifier(name) {
		b.errs = append(b.errs, fmt.Errorf("node %q: not a name that expressions can read; use letters, digits and _", name))
	}
	if _, twice := b.names[name]; twice {
		b.errs = append(b.errs, fmt.Errorf("node %s: the name is taken; choose another", name))
	}
	id := VarID(len(b.g.Vars))
	b.g.Vars = append(b.g.Vars, &Var{Name: name})
	b.names[name] = id
	return id
}

func identifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// edges turns what a node comes after and its cases into edges. A node that comes after nothing and
// is no case starts with the instance.
func (b *Builder) edges(nb *NodeBuilder) {
	if nb.n.Kind != Input && len(nb.hard) == 0 && len(nb.soft) == 0 && !nb.isCase {
		nb.hard = []*NodeBuilder{b.nodes[0]}
	}
	for _, from := range nb.hard {
		b.edge(from, nb, Forward, nil)
	}
	for _, from := range nb.soft {
		b.edge(from, nb, Soft, nil)
	}
	for _, last := range []bool{false, true} { // a branch takes the first that holds: its else stands last
		for _, c := range nb.cases {
			if (c.guard == nil) == last {
				b.edge(nb, c.to, Guard, c.guard)
			}
		}
	}
	if nb.n.Kind != Branch && len(nb.cases) > 0 {
		b.errs = append(b.errs, fmt.Errorf("node %s: only a branch has cases; add one after it", nb.n.Name))
	}
	nb.n.Required = len(nb.hard)
	if len(nb.soft) > 0 {
		nb.n.Required++
	}
	if nb.n.Required == 0 && nb.n.Kind != Input {
		nb.n.Required = 1
	}
}

func (b *Builder) edge(from, to *NodeBuilder, kind EdgeKind, guard *ir.Expr) {
	if from == nil || to == nil || from.b != b || to.b != b {
		b.errs = append(b.errs, fmt.Errorf("graph %s: an edge leads to a node of another graph", b.g.Name))
		return
	}
	if from.n.Kind == Branch && kind != Guard {
		b.errs = append(b.errs, fmt.Errorf("node %s: comes after the branch %s without being a case of it; name it in Case or Else", to.n.Name, from.n.Name))
		return
	}
	b.g.Edges = append(b.g.Edges, &Edge{From: from.n.ID, To: to.n.ID, Kind: kind, Guard: guard, Var: None})
}

// expressions checks that every expression of a node compiles and reads only names that exist.
func (b *Builder) expressions(nb *NodeBuilder) {
	check := func(e *ir.Expr) {
		if e == nil {
			b.mistake("node %s: an argument has no value; write X(\"...\")", nb.n.Name)
			return
		}
		compiled, err := expr.Compile(e, b.g.Limits)
		if err != nil {
			b.errs = append(b.errs, fmt.Errorf("node %s: %q: %s", nb.n.Name, e.Text, asError(e.Pos, err).Msg))
			return
		}
		for _, name := range compiled.Names() {
			if _, ok := b.names[name]; !ok {
				b.errs = append(b.errs, fmt.Errorf("node %s: %q reads %s, which is neither an input nor a node", nb.n.Name, e.Text, name))
			}
		}
	}
	for _, a := range nb.n.Args {
		check(a.Value)
	}
	for _, c := range nb.cases {
		if c.guard != nil {
			check(c.guard)
		}
	}
	if nb.n.Expr != nil {
		check(nb.n.Expr)
	}
}

// asError gives an error's text as an *ir.Error, with the place if it has none.
func asError(pos ir.Pos, err error) *ir.Error {
	var e *ir.Error
	if errors.As(err, &e) {
		return e
	}
	return &ir.Error{Pos: pos, Msg: err.Error()}
}
