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

// Region is a part of the graph whose runs end together: a round of a loop, or the branches of a spread or parallel.
type Region struct {
	Parent RegionID `json:"parent"`
	Loop   bool     `json:"loop,omitempty"`

	// Depth is how many leading parts of a path choose one round of the loop, or one run of the spread or parallel.
	Depth int `json:"depth"`
}

// Kind is what a node does.
type Kind string

// The kinds. A traversal stops and commits at the frontier nodes Action, Aggregate, Sleep and Output. An action or aggregate
// with more than one predecessor is also a barrier. All others run inline.
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

// EdgeKind tells when an edge is taken and whether it counts.
type EdgeKind string

// The kinds. Forward and Soft edges count towards the target's readiness (all soft ones of a node as one). Guard, Continue and
// Break edges leave a node that takes exactly one way. Back edges lead to a loop's head. Exception edges are taken on an error.
// Data edges carry a variable and are never traversed.
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

// PriorityMax is the highest priority.
const PriorityMax = 9

// Graph is a compiled workflow. Once Check has passed, it is immutable and may be shared.
type Graph struct {
	Name   string   `json:"name"`
	Inputs []string `json:"inputs"` // exactly the names of the instance's input
	Nodes  []*Node  `json:"nodes"`  // Nodes[i].ID == i; Nodes[0] is the only input node
	Edges  []*Edge  `json:"edges"`  // in the order in which guards are tried
	Vars   []*Var   `json:"vars"`
	Frames []Frame  `json:"frames"`

	// Regions are the loops, spreads and parallels, each after its parent. Regions[0] is the whole workflow.
	Regions []Region  `json:"regions,omitempty"`
	Limits  ir.Limits `json:"limits,omitzero"`

	// Priority says how urgent the node runs of its instances are, from 0, the usual one, to PriorityMax.
	Priority int `json:"priority,omitempty"`

	out, in [][]*Edge // control edges by node; index makes them
}

// Node is one step of a workflow.
type Node struct {
	ID    NodeID `json:"id"`
	Name  string `json:"name"`
	Kind  Kind   `json:"kind"`
	Pos   ir.Pos `json:"pos,omitzero"`
	Depth int    `json:"depth,omitempty"` // loops and spreads around it: the length of its runs' paths
	Frame int    `json:"frame,omitempty"` // in Graph.Frames: the meaning of names in its expressions and guards

	// Region is the innermost one around the node. A loop's head and loop_next are in its region, its init and exit outside. An
	// aggregate is in the region of its branches.
	Region RegionID `json:"region,omitempty"`

	// Required is how many arrivals make the node ready. Zero for the aggregate of a spread, whose elements determine the
	// count.
	Required int `json:"required"`

	// Exclusive means that any run takes only one of the ways to the node, by construction.
	Exclusive bool `json:"exclusive,omitempty"`

	Action   string        `json:"action,omitempty"` // of an action, as workers know it
	Args     []Arg         `json:"args,omitempty"`
	Retries  []Retry       `json:"retries,omitempty"`
	Timeout  time.Duration `json:"timeout_ns,omitempty"`
	Continue bool          `json:"continue_on_error,omitempty"` // a failure becomes the node's value

	Sets  []Set   `json:"sets,omitempty"`  // of an assign or return, in order; each sees the earlier ones
	Clear []VarID `json:"clear,omitempty"` // of an assign: variables that lose their value before Sets

	Targets []VarID  `json:"targets,omitempty"` // for the value of an action, aggregate or loop element; several unpack it
	Unpacks ir.Pos   `json:"unpacks,omitzero"`  // the statement of an action or aggregate with several targets
	Expr    *ir.Expr `json:"expr,omitempty"`    // what a spread, loop_init or while loop_head evaluates; the seconds of a sleep; an output's result

	// Var is, of a for's loop_init and loop_head, the variable with the elements; of a spread, that of one element; of an
	// aggregate, that of its branches' values until all are there; of an output without Expr, that of the result; otherwise
	// None.
	Var VarID `json:"var"`

	Aggregate NodeID `json:"aggregate,omitempty"` // where the branches of a spread or parallel meet
	Limit     int    `json:"limit,omitempty"`     // of a spread: elements in flight; zero means all
}

// RetryFor returns the first policy that names the error's type, or every type.
func (n *Node) RetryFor(typ string) (Retry, bool) {
	for _, r := range n.Retries {
		if namesType(r.Types, typ) {
			return r, true
		}
	}
	return Retry{}, false
}

func namesType(types []string, typ string) bool {
	return namesEveryType(types) || slices.Contains(types, typ)
}

func namesEveryType(types []string) bool {
	return len(types) == 0 || slices.Contains(types, "Exception")
}

// Arg is a keyword argument of an action.
type Arg struct {
	Name  string   `json:"name"`
	Value *ir.Expr `json:"value"`
}

// Retry is a retry policy; see ir.Retry.
type Retry struct {
	Types   []string      `json:"types,omitempty"`
	Count   int           `json:"count"`
	Backoff time.Duration `json:"backoff_ns,omitempty"`
}

// Set assigns the value of an expression or of another variable to targets. Several targets unpack it; without any, the
// expression is only evaluated for its error.
type Set struct {
	Targets []VarID  `json:"targets"`
	Value   *ir.Expr `json:"value,omitempty"`
	From    VarID    `json:"from"` // if Value is nil, the variable to copy; otherwise None

	// Append is the list display that Value adds to the only target, an accumulator: only what is appended is written (D12).
	// Otherwise nil.
	Append *ir.Expr `json:"append,omitempty"`
}

// Edge leads from one node to another. A Guard edge without an expression is the else.
type Edge struct {
	From  NodeID   `json:"from"`
	To    NodeID   `json:"to"`
	Kind  EdgeKind `json:"kind"`
	Guard *ir.Expr `json:"guard,omitempty"`
	Types []string `json:"types,omitempty"` // of an exception edge; none means every error

	// Var is the variable that a data edge carries. On an edge into an aggregate it holds the branch's value, and Element is
	// its index in the list; in a spread the index is the last part of the run's path. On an exception edge it is the variable
	// for the error, or None.
	Var     VarID `json:"var"`
	Element int   `json:"element,omitempty"`
}

// Frame maps the names of one expanded function to variables.
type Frame struct {
	Names map[string]VarID `json:"names"`
}

// Var is a variable after calls were expanded.
type Var struct {
	Name string `json:"name"`

	// Scope is how many leading parts of a run's path choose the variable's copy: every element of a spread over a function has
	// its own.
	Scope int `json:"scope,omitempty"`

	// Length is, of an accumulator, the variable with what an append must know of it; otherwise zero.
	Length VarID `json:"length,omitempty"`
}

// Run identifies a run of a node within an instance.
type Run struct {
	Node NodeID
	Path Path
}

// Path is a run's loop iterations and spread indices, outermost first, as decimal numbers joined by dots; empty outside of all
// loops and spreads.
type Path string

// Push adds an index at the inner end.
func (p Path) Push(i int) Path {
	if p == "" {
		return Path(strconv.Itoa(i))
	}
	return p + "." + Path(strconv.Itoa(i))
}

// Cut keeps the outer n parts.
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

// Under reports whether the path is outer or continues it.
func (p Path) Under(outer Path) bool {
	return outer == "" || p == outer || strings.HasPrefix(string(p), string(outer)+".")
}

// Last returns the innermost index, or -1 for the empty path.
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

// Actions lists the names of its actions, sorted.
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

// Handler returns the exception edge that an error of a node takes: the first that names its type, or every type. Nil: not
// caught.
func (g *Graph) Handler(n NodeID, typ string) *Edge {
	for _, e := range g.Out(n) {
		if e.Kind == Exception && namesType(e.Types, typ) {
			return e
		}
	}
	return nil
}

// Out returns the control edges that leave a node, in order. The slice belongs to the graph.
func (g *Graph) Out(n NodeID) []*Edge { return g.out[n] }

// In returns the control edges that reach a node. The slice belongs to the graph.
func (g *Graph) In(n NodeID) []*Edge { return g.in[n] }

// Skip returns the aggregate to which a spread without elements continues.
func (n *Node) Skip() (NodeID, bool) { return n.Aggregate, n.Kind == Spread }

// Within reports whether a region is outer or inside it.
func (g *Graph) Within(r, outer RegionID) bool {
	for r > outer {
		r = g.Regions[r].Parent
	}
	return r == outer
}

// Around lists a region and those around it, innermost first.
func (g *Graph) Around(r RegionID) []RegionID {
	out := []RegionID{r}
	for r != 0 {
		r = g.Regions[r].Parent
		out = append(out, r)
	}
	return out
}

// Frontier reports whether a traversal stops at the node and commits.
func (g *Graph) Frontier(n *Node) bool {
	switch n.Kind {
	case Action, Aggregate, Sleep, Output:
		return true
	}
	return g.Waits(n)
}

// Waits reports whether the node is a barrier: it can be reached more than once before it runs, and so needs a readiness row.
func (g *Graph) Waits(n *Node) bool {
	switch {
	case n.Exclusive:
		return false
	case n.Kind == Aggregate || n.Required > 1:
		return true
	}
	// Only one case of a branch is taken: several that lead here count as a single way.
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
