package graph

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/ir"
)

// NodeID is a node's index in Graph.Nodes.
type NodeID int32

// VarID is a variable's index in Graph.Vars.
type VarID int32

// None stands for no variable.
const None VarID = -1

// RegionID is a region's index in Graph.Regions.
type RegionID int32

// Region is a part of the graph whose runs end together: the body of a loop, of which one round does, or
// the branches of a spread or parallel.
type Region struct {
	Parent RegionID `json:"parent"`
	Loop   bool     `json:"loop,omitempty"`

	// Depth is how many leading parts of a path choose one round of the loop, or one run of the spread
	// or parallel.
	Depth int `json:"depth"`
}

// Kind says what a node does.
type Kind string

// The kinds. Action, Aggregate, Sleep and Output are frontier nodes, where a traversal stops and
// commits; an action or aggregate with more than one predecessor is also a barrier, since it waits.
// All others run inline.
const (
	Input     Kind = "input"
	Output    Kind = "output"
	Action    Kind = "action"
	Assign    Kind = "assign"
	Branch    Kind = "branch"
	Join      Kind = "join"
	Parallel  Kind = "parallel"
	Spread    Kind = "spread"
	Aggregate Kind = "aggregate"
	Sleep     Kind = "sleep"
	Return    Kind = "return"
	LoopInit  Kind = "loop_init"
	LoopHead  Kind = "loop_head"
	LoopNext  Kind = "loop_next"
	LoopExit  Kind = "loop_exit"
)

// EdgeKind says when an edge is taken and whether it counts.
type EdgeKind string

// The kinds. Forward and Soft edges count towards the target's readiness (all soft ones of a node as
// one); Guard, Continue and Break edges leave a node that takes exactly one of its ways; Back edges
// lead to a loop's head; Exception edges are taken on an error; Data edges carry a variable and are
// never traversed.
const (
	Forward   EdgeKind = "forward"
	Soft      EdgeKind = "soft"
	Guard     EdgeKind = "guard"
	Exception EdgeKind = "exception"
	Continue  EdgeKind = "continue"
	Break     EdgeKind = "break"
	Back      EdgeKind = "back"
	Data      EdgeKind = "data"
)

// Graph is a compiled workflow. It is immutable once Check has passed and may be shared.
type Graph struct {
	Name   string   `json:"name"`
	Inputs []string `json:"inputs"` // what the instance's input must hold, no more and no less
	Nodes  []*Node  `json:"nodes"`  // Nodes[i].ID == i; Nodes[0] is the only input node
	Edges  []*Edge  `json:"edges"`  // in the order in which guards are tried
	Vars   []*Var   `json:"vars"`
	Frames []Frame  `json:"frames"`

	// Regions are the loops, spreads and parallels, each after the one that it stands in. Regions[0] is
	// the whole workflow.
	Regions []Region  `json:"regions,omitempty"`
	Limits  ir.Limits `json:"limits,omitzero"`

	out, in [][]*Edge // control edges by node; made by index
}

// Node is one step of a workflow.
type Node struct {
	ID    NodeID `json:"id"`
	Name  string `json:"name"` // unique in the graph
	Kind  Kind   `json:"kind"`
	Pos   ir.Pos `json:"pos,omitzero"`
	Depth int    `json:"depth,omitempty"` // how many loops and spreads it stands in: the length of its runs' paths
	Frame int    `json:"frame,omitempty"` // index in Graph.Frames: what names mean in its expressions and guards

	// Region is the innermost one that the node stands in. A loop's head and loop_next stand in its
	// region, its init and exit around it; an aggregate stands in that of its branches.
	Region RegionID `json:"region,omitempty"`

	// Required is how many arrivals make the node ready. For an aggregate of a spread it is zero:
	// the count is known only when the elements are.
	Required int `json:"required"`

	// Exclusive says that only one of the paths to the node can be taken in any run, by construction.
	Exclusive bool `json:"exclusive,omitempty"`

	Action   string        `json:"action,omitempty"` // of an action: the name that workers know
	Args     []Arg         `json:"args,omitempty"`
	Retries  []Retry       `json:"retries,omitempty"`
	Timeout  time.Duration `json:"timeout_ns,omitempty"`
	Continue bool          `json:"continue_on_error,omitempty"` // a failure becomes the node's value

	Sets  []Set   `json:"sets,omitempty"`  // of an assign or return, in order; each sees what those before it set
	Clear []VarID `json:"clear,omitempty"` // of an assign: variables that lose their value before Sets give them one

	Targets []VarID  `json:"targets,omitempty"` // where the value of an action, aggregate or loop element goes; several unpack it
	Unpacks ir.Pos   `json:"unpacks,omitzero"`  // of an action or aggregate with several targets: the statement that names them
	Expr    *ir.Expr `json:"expr,omitempty"`    // what a spread, loop_init or while loop_head evaluates; the seconds of a sleep; an output's result

	// Var is, of a for's loop_init and loop_head, the variable with the elements; of a spread, that of
	// one element; of an aggregate, that under which its branches' values are kept until all are
	// there; of an output without Expr, that of the result. None otherwise.
	Var VarID `json:"var"`

	Aggregate NodeID `json:"aggregate,omitempty"` // of a spread or parallel: where its branches meet
	Limit     int    `json:"limit,omitempty"`     // of a spread: elements in flight; zero means all
}

// RetryFor finds the policy for an error: the first that names its type, or every type.
func (n *Node) RetryFor(typ string) (Retry, bool) {
	for _, r := range n.Retries {
		if namesType(r.Types, typ) {
			return r, true
		}
	}
	return Retry{}, false
}

// namesType says whether a list of the types of errors has one in it.
func namesType(types []string, typ string) bool {
	return namesEveryType(types) || slices.Contains(types, typ)
}

// namesEveryType says whether a list of the types of errors is of all errors.
func namesEveryType(types []string) bool {
	return len(types) == 0 || slices.Contains(types, "Exception")
}

// Arg is one keyword argument of an action.
type Arg struct {
	Name  string   `json:"name"`
	Value *ir.Expr `json:"value"`
}

// Retry is one retry policy; see ir.Retry.
type Retry struct {
	Types   []string      `json:"types,omitempty"`
	Count   int           `json:"count"`
	Backoff time.Duration `json:"backoff_ns,omitempty"`
}

// Set gives targets the value of an expression or of another variable; several targets unpack it, and
// without any the expression is evaluated for its error only.
type Set struct {
	Targets []VarID  `json:"targets"`
	Value   *ir.Expr `json:"value,omitempty"`
	From    VarID    `json:"from"` // where Value is nil: the variable to copy; None otherwise

	// Append, where Value adds a list display to the one target, is that list: the target is an
	// accumulator, and what is appended to it is all that is written (D12). Nil otherwise.
	Append *ir.Expr `json:"append,omitempty"`
}

// Edge leads from one node to another. Guard edges without an expression are the else.
type Edge struct {
	From  NodeID   `json:"from"`
	To    NodeID   `json:"to"`
	Kind  EdgeKind `json:"kind"`
	Guard *ir.Expr `json:"guard,omitempty"`
	Types []string `json:"types,omitempty"` // of an exception edge; none means every error

	// Var is the variable that a data edge carries. On an edge into an aggregate it is the variable
	// that holds the branch's value, and Element its place in the list; in a spread the place is the
	// element's index, the last of the run's path. On an exception edge it is the variable that the
	// error is bound to, or None.
	Var     VarID `json:"var"`
	Element int   `json:"element,omitempty"`
}

// Frame says which variables the names of one expanded function stand for.
type Frame struct {
	Names map[string]VarID `json:"names"`
}

// Var is a variable after calls were expanded.
type Var struct {
	Name string `json:"name"` // unique in the graph

	// Scope is how many leading parts of a run's path choose the variable's copy: every element of a
	// spread over a function has its own.
	Scope int `json:"scope,omitempty"`

	// Length is, of an accumulator, the variable that holds what appending must know of it; zero for
	// any other.
	Length VarID `json:"length,omitempty"`
}

// Run names one run of a node within an instance: the node, and the place of the run in the loops
// and spreads around it.
type Run struct {
	Node NodeID
	Path Path
}

// Path is a run's loop iterations and spread indices from the outside in, as decimal numbers joined
// by dots; empty outside of all loops and spreads.
type Path string

// Push adds an index at the inner end.
func (p Path) Push(i int) Path {
	if p == "" {
		return Path(strconv.Itoa(i))
	}
	return p + "." + Path(strconv.Itoa(i))
}

// Cut keeps the outer n parts. A path that is no longer is returned as it is.
func (p Path) Cut(n int) Path {
	if n == 0 {
		return ""
	}
	for i := 0; i < len(p); i++ {
		if p[i] != '.' {
			continue
		}
		if n--; n == 0 {
			return p[:i]
		}
	}
	return p
}

// Under says whether the path is the outer one or continues it.
func (p Path) Under(outer Path) bool {
	return outer == "" || p == outer || strings.HasPrefix(string(p), string(outer)+".")
}

// Last gives the innermost index, and -1 for the empty path.
func (p Path) Last() int {
	if p == "" {
		return -1
	}
	i, err := strconv.Atoi(string(p[strings.LastIndexByte(string(p), '.')+1:]))
	if err != nil {
		return -1
	}
	return i
}

// Len counts the parts.
func (p Path) Len() int {
	if p == "" {
		return 0
	}
	return strings.Count(string(p), ".") + 1
}

// Actions lists the names of the actions that it has, sorted.
func (g *Graph) Actions() []string {
	var names []string
	for _, n := range g.Nodes {
		if n.Kind == Action {
			names = append(names, n.Action)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Handler finds the exception edge that an error of a node takes: the first that names its type, or every type. Nil: the error is not caught.
func (g *Graph) Handler(n NodeID, typ string) *Edge {
	for _, e := range g.Out(n) {
		if e.Kind == Exception && namesType(e.Types, typ) {
			return e
		}
	}
	return nil
}

// Out gives the control edges that leave a node, in order. The slice is the graph's own.
func (g *Graph) Out(n NodeID) []*Edge { return g.out[n] }

// In gives the control edges that reach a node. The slice is the graph's own.
func (g *Graph) In(n NodeID) []*Edge { return g.in[n] }

// Skip gives the aggregate to which a spread goes on when it has no elements.
func (n *Node) Skip() (NodeID, bool) { return n.Aggregate, n.Kind == Spread }

// Within says whether a region is another one or stands in it.
func (g *Graph) Within(r, outer RegionID) bool {
	for r > outer {
		r = g.Regions[r].Parent
	}
	return r == outer
}

// Around lists a region and those that it stands in, from the inside out.
func (g *Graph) Around(r RegionID) []RegionID {
	out := []RegionID{r}
	for r != 0 {
		r = g.Regions[r].Parent
		out = append(out, r)
	}
	return out
}

// Frontier says whether a traversal stops at the node and commits.
func (g *Graph) Frontier(n *Node) bool {
	switch n.Kind {
	case Action, Aggregate, Sleep, Output:
		return true
	}
	return g.Waits(n)
}

// Waits says whether the node is a barrier: it can be reached more than once before it runs, and so
// needs a readiness row.
func (g *Graph) Waits(n *Node) bool {
	switch {
	case n.Exclusive:
		return false
	case n.Kind == Aggregate || n.Required > 1:
		return true
	}
	// Of the cases of one branch one is taken: several that lead here count as a single way.
	ways := 0
	branches := map[NodeID]bool{}
	for _, e := range g.in[n.ID] {
		switch {
		case e.Kind == Soft:
			ways++
		case e.Kind == Guard && !branches[e.From]:
			branches[e.From] = true
			ways++
		}
	}
	return ways > 1
}

// index builds the lookups by node.
func (g *Graph) index() {
	g.out = make([][]*Edge, len(g.Nodes))
	g.in = make([][]*Edge, len(g.Nodes))
	if len(g.Regions) == 0 {
		g.Regions = []Region{{}}
	}
	for _, e := range g.Edges {
		if e.Kind == Data {
			continue
		}
		g.out[e.From] = append(g.out[e.From], e)
		g.in[e.To] = append(g.in[e.To], e)
	}
}
