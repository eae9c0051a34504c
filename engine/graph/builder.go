package graph

import (
	"errors"
	"fmt"
	"time"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Builder makes a graph in Go. Nodes run concurrently unless ordered: each as soon as what it comes after has ended. Build
// reports all mistakes together.
type Builder struct {
	Body
	g      *Graph
	bodies []*Body // each after its outer one; the first is the workflow's
	eaches []*Each
	errs   []error
	built  bool
}

// Body is what nodes are added to: the workflow, or what runs for each element of a list.
type Body struct {
	b      *Builder
	outer  *Body        // nil for the workflow
	node   *NodeBuilder // the result of Map, For or Fold; nil for the workflow
	name   string
	frame  int
	region RegionID
	depth  int

	values map[string]binding // by name, without those of outer bodies
	nodes  []*NodeBuilder
	output *NodeBuilder
}

type binding struct {
	v  VarID
	by *NodeBuilder
}

// NodeBuilder is a node that a Builder makes. The result of Map, For and Fold is one, too: what it comes after precedes its
// first element, and what comes after it follows its last.
type NodeBuilder struct {
	body    *Body
	n       *Node
	last    *Node
	expr    *ir.Expr // an output's value, or the elements of a Map, For or Fold
	initial *ir.Expr // of a Fold
	hard    []*NodeBuilder
	soft    []*NodeBuilder
	from    []*NodeBuilder
	cases   []branchCase
	elses   int
}

type branchCase struct {
	guard *ir.Expr
	to    *NodeBuilder
}

// New starts a graph whose instances take an object with the given names as input.
func New(name string, inputs ...string) *Builder {
	b := &Builder{g: &Graph{Name: name, Inputs: inputs, Frames: []Frame{{}}, Regions: []Region{{}}}}
	b.Body = Body{b: b, values: map[string]binding{}}
	b.bodies = []*Body{&b.Body}
	in := b.add("input", &Node{Kind: Input})
	for _, name := range inputs {
		in.n.Targets = append(in.n.Targets, b.value(name, nil))
	}
	return b
}

// Limits sets the limits that the graph is built and run with. Zero means the defaults.
func (b *Builder) Limits(l ir.Limits) *Builder {
	b.g.Limits = l
	return b
}

// X makes an expression of its text. Build reports its mistakes.
func X(text string) *ir.Expr { return &ir.Expr{Text: text} }

// Action adds an action node. Expressions read its value by the node's name, which must be an identifier. action is the
// workers' name.
func (o *Body) Action(name, action string, args ...Arg) *NodeBuilder {
	nb := o.add(name, &Node{Kind: Action, Action: action, Args: args})
	nb.n.Targets = []VarID{o.value(name, nb)}
	return nb
}

// Branch adds a node that continues to exactly one of its cases.
func (o *Body) Branch(name string) *NodeBuilder {
	return o.add(name, &Node{Kind: Branch})
}

// Output adds the node that ends the body with the value of an expression: the result of the instance, or of an element. A body
// has one.
func (o *Body) Output(value string) *NodeBuilder {
	n := &Node{Kind: Output, Expr: X(value)}
	if o.outer != nil {
		n = &Node{Kind: Return}
	}
	nb := o.add("output", n)
	nb.expr = X(value)
	if o.output != nil {
		o.b.mistake("%s: there is one already; make its value a list", nb.n.Name)
	}
	o.output = nb
	return nb
}

// After makes the node wait for each of the nodes (hard edges).
func (n *NodeBuilder) After(nodes ...*NodeBuilder) *NodeBuilder {
	n.hard = append(n.hard, nodes...)
	return n
}

// AfterAny makes the node wait for the first of the nodes to end (soft edges). All its calls form one group.
func (n *NodeBuilder) AfterAny(nodes ...*NodeBuilder) *NodeBuilder {
	n.soft = append(n.soft, nodes...)
	return n
}

// Retry adds a retry policy: count attempts after the first, on the types or, without any, on all.
func (n *NodeBuilder) Retry(r Retry) *NodeBuilder {
	if n.n.Kind != Action || r.Count < 0 || r.Backoff < 0 {
		n.mistake("a retry is for actions, and its count and backoff are not below 0")
	}
	n.n.Retries = append(n.n.Retries, r)
	return n
}

// Timeout ends an attempt of the action that takes longer, with an error of type Timeout.
func (n *NodeBuilder) Timeout(d time.Duration) *NodeBuilder {
	if n.n.Kind != Action || d < 0 {
		n.mistake("a timeout is for actions, and not below 0")
	}
	n.n.Timeout = d
	return n
}

// OnError handles a failed action after its retries. With Continue, what comes after it runs, and the node's value is the
// error, for which isexception holds. Without OnError the instance fails.
func (n *NodeBuilder) OnError(then EdgeKind) *NodeBuilder {
	if n.n.Kind != Action || then != Continue {
		n.mistake("OnError is for actions, and takes Continue; without it an error ends the instance")
	}
	n.n.Continue = true
	return n
}

// Case continues to a node if the guard holds and no earlier one does.
func (n *NodeBuilder) Case(guard string, to *NodeBuilder) *NodeBuilder {
	return n.way(X(guard), to)
}

// Else continues to a node if no guard holds, wherever it stands among the cases.
func (n *NodeBuilder) Else(to *NodeBuilder) *NodeBuilder {
	if n.elses++; n.elses > 1 {
		n.mistake("has two elses; make one of them a case")
	}
	return n.way(nil, to)
}

func (n *NodeBuilder) way(guard *ir.Expr, to *NodeBuilder) *NodeBuilder {
	if n.n.Kind != Branch {
		n.mistake("only a branch has cases; add one after it")
	}
	n.cases = append(n.cases, branchCase{guard, to})
	if to != nil {
		to.from = append(to.from, n)
	}
	return n
}

func (b *Builder) mistake(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (n *NodeBuilder) mistake(format string, args ...any) {
	n.body.b.mistake("node %s: %s", n.n.Name, fmt.Sprintf(format, args...))
}

// Build checks the graph and returns it, once. The error lists all mistakes.
func (b *Builder) Build() (*Graph, error) {
	if b.built {
		return nil, fmt.Errorf("graph %s: is built already; keep what Build gave", b.g.Name)
	}
	b.built = true
	if b.output == nil {
		b.mistake("graph %s: no output; add Output(...)", b.g.Name)
	}
	for _, e := range b.eaches {
		e.finish()
	}
	for _, o := range b.bodies {
		o.finish()
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	if err := b.g.Check(); err != nil {
		return nil, err
	}
	b.readings()
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	return b.g, nil
}

func (o *Body) finish() {
	names := map[string]VarID{}
	for from := o.outer; from != nil; from = from.outer {
		for name, bound := range from.values {
			names[name] = bound.v
		}
	}
	for name, bound := range o.values {
		if _, twice := names[name]; twice && bound.by != o.output {
			o.b.mistake("node %s%s: the name is taken further out; choose another", o.prefix(), name)
		}
		names[name] = bound.v
	}
	o.b.g.Frames[o.frame].Names = names
	for _, nb := range o.nodes {
		nb.edges()
	}
	for _, nb := range o.nodes {
		nb.expressions()
	}
}

func (o *Body) prefix() string {
	if o.outer == nil {
		return ""
	}
	return o.outer.prefix() + o.name + "."
}

func (o *Body) add(name string, n *Node) *NodeBuilder {
	nb := &NodeBuilder{body: o, n: o.place(name, n)}
	nb.last = nb.n
	o.nodes = append(o.nodes, nb)
	return nb
}

func (o *Body) place(name string, n *Node) *Node {
	g := o.b.g
	n.ID, n.Name, n.Var = NodeID(len(g.Nodes)), o.prefix()+name, None
	n.Depth, n.Region, n.Frame = o.depth, o.region, o.frame
	g.Nodes = append(g.Nodes, n)
	return n
}

func (o *Body) value(name string, by *NodeBuilder) VarID {
	if _, err := expr.Compile(X(name), o.b.g.Limits); err != nil || !identifier(name) {
		o.b.mistake("node %q: not a name that expressions can read; use letters, digits and _", name)
	}
	if _, twice := o.values[name]; twice {
		o.b.mistake("node %s%s: the name is taken; choose another", o.prefix(), name)
	}
	v := o.variable(o.prefix() + name)
	o.values[name] = binding{v, by}
	return v
}

// Every run of the body has a copy.
func (o *Body) variable(name string) VarID {
	g := o.b.g
	g.Vars = append(g.Vars, &Var{Name: name, Scope: o.depth})
	return VarID(len(g.Vars) - 1)
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

// It starts with its body.
func (n *NodeBuilder) starts() bool {
	return n.n.Kind != Input && len(n.hard) == 0 && len(n.soft) == 0 && len(n.from) == 0
}

func (n *NodeBuilder) edges() {
	g := n.body.b.g
	if n.starts() && n.body.outer == nil {
		g.Edges = append(g.Edges, &Edge{From: 0, To: n.n.ID, Kind: Forward, Var: None})
	}
	for _, from := range n.hard {
		n.comesAfter(from, Forward)
	}
	for _, from := range n.soft {
		n.comesAfter(from, Soft)
	}
	for _, last := range []bool{false, true} { // a branch takes the first guard that holds, so its else is last
		for _, c := range n.cases {
			if (c.guard == nil) == last && n.parallelTo(c.to) {
				g.Edges = append(g.Edges, &Edge{From: n.last.ID, To: c.to.n.ID, Kind: Guard, Guard: c.guard, Var: None})
			}
		}
	}
	if n.n.Required = len(n.hard); len(n.soft) > 0 {
		n.n.Required++
	}
	if n.n.Required == 0 && n.n.Kind != Input {
		n.n.Required = 1
	}
}

func (n *NodeBuilder) comesAfter(from *NodeBuilder, kind EdgeKind) {
	switch {
	case !n.parallelTo(from):
	case from.n.Kind == Branch:
		n.mistake("comes after the branch %s without being a case of it; name it in Case or Else", from.n.Name)
	default:
		g := n.body.b.g
		g.Edges = append(g.Edges, &Edge{From: from.last.ID, To: n.n.ID, Kind: kind, Var: None})
	}
}

func (n *NodeBuilder) parallelTo(other *NodeBuilder) bool {
	switch b := n.body.b; {
	case other == nil || other.body.b != b:
		b.mistake("graph %s: an edge leads to a node of another graph", b.g.Name)
	case other.body != n.body:
		n.mistake("stands in another body than %s; order them by the node that Map, For or Fold gives", other.n.Name)
	default:
		return true
	}
	return false
}

func (n *NodeBuilder) expressions() {
	for _, e := range n.reads() {
		if e == nil {
			n.mistake("an argument has no value; write X(\"...\")")
			continue
		}
		compiled, err := expr.Compile(e, n.body.b.g.Limits)
		if err != nil {
			n.mistake("%q: %s", e.Text, asError(e.Pos, err).Msg)
			continue
		}
		for _, name := range compiled.Names() {
			if _, ok := n.body.b.g.Frames[n.body.frame].Names[name]; !ok {
				n.mistake("%q reads %s, which is neither an input nor a node", e.Text, name)
			}
		}
	}
}

// reads leaves out the expressions in the body of a Map, For or Fold.
func (n *NodeBuilder) reads() []*ir.Expr {
	var out []*ir.Expr
	for _, a := range n.n.Args {
		out = append(out, a.Value)
	}
	for _, c := range n.cases {
		if c.guard != nil {
			out = append(out, c.guard)
		}
	}
	if n.expr != nil {
		out = append(out, n.expr)
	}
	if n.initial != nil {
		out = append(out, n.initial)
	}
	return out
}

func asError(pos ir.Pos, err error) *ir.Error {
	var e *ir.Error
	if errors.As(err, &e) {
		return e
	}
	return &ir.Error{Pos: pos, Msg: err.Error()}
}
