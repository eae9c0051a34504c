package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"go.starlark.net/syntax"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Program is a graph made ready to run: expressions compiled, liveness and reads known. It is
// immutable and safe for concurrent use.
type Program struct {
	graph      *graph.Graph
	limits     ir.Limits
	definition []byte
	hash       [sha256.Size]byte
	nodes      []node
	live       *graph.Live
	local      []bool                // by variable: it holds a spread's element and never stands in the inbox
	heads      map[graph.VarID]*node // by the variable of what a for goes over: its loop_head
	races      bool                  // some node goes on when the first of several has ended
	early      bool                  // see EndsEarly
	cleared    []Cleared             // by region
	memo       *memo                 // see Remembering; nil: it does not
}

// node is a graph node with its expressions compiled.
type node struct {
	*graph.Node
	expr   *expression
	args   []*expression
	sets   []*expression // nil where a variable is copied
	added  []*expression // by set: what it appends; nil where it does not
	guards []*expression // by edge out; nil for an else
	waits  bool
	item   graph.VarID // of the node that begins the branches of a spread with a limit: the variable of its element
	fork   *graph.Node // of an aggregate: the spread or parallel whose branches meet there
	ranged bool        // expr gives the arguments of a range, not its elements

	needs      readSet       // read after the node's action or barrier, up to the next frontier; sorted
	caught     readSet       // read after its action has failed; sorted
	fired      readSet       // of a node that can go on by itself, but an aggregate: read from there; sorted
	wholeReads []graph.VarID // accumulators that it reads: the traversal stops before it and reads them
}

// loopsOverList says whether the node is the head of a loop over a list, which is kept in chunks.
func (p *Program) loopsOverList(n *node) bool {
	return n.Kind == graph.LoopHead && n.Var != graph.None && !n.ranged
}

// resumes says whether a run of the node can be the start of a traversal, other than as a barrier.
func (p *Program) resumes(n *node) bool {
	return len(n.wholeReads) > 0 || p.loopsOverList(n) || n.item != graph.None
}

// expression is a compiled expression and the variables of its free names, in order.
type expression struct {
	compiled *expr.Compiled
	vars     []graph.VarID
	bare     bool // it is a name and nothing else

	// constant gives the value of an expression without names as JSON, made once; nil where that fails, and the
	// expression must be evaluated to see how. The function is nil where there are names.
	constant func() json.RawMessage
}

// CompileText makes a program ready to run, from its text. name stands for its file in errors.
func CompileText(name string, text []byte, limits ir.Limits) (*Program, error) {
	g, err := graph.CompileText(name, text, limits)
	if err != nil {
		return nil, err
	}
	return Compile(g)
}

// Compile makes a checked graph ready to run. It fails only where an expression does.
func Compile(g *graph.Graph) (*Program, error) {
	definition, err := graph.Encode(g)
	if err != nil {
		return nil, err
	}
	p := &Program{graph: g, limits: g.Limits.WithDefaults(), definition: definition, hash: sha256.Sum256(definition)}
	p.nodes = make([]node, len(g.Nodes))
	p.local = make([]bool, len(g.Vars))
	p.heads = map[graph.VarID]*node{}
	reads := make([][]graph.VarID, len(g.Nodes))
	for i, n := range g.Nodes {
		if reads[i], err = p.compile(&p.nodes[i], n); err != nil {
			return nil, err
		}
	}
	p.live = g.Liveness(reads)
	for _, n := range g.Nodes {
		if n.Kind == graph.Spread || n.Kind == graph.Parallel {
			p.nodes[n.Aggregate].fork = n
		}
		if n.Kind == graph.Spread {
			p.spread(n)
		}
	}
	p.regions()
	p.races = slices.ContainsFunc(g.Edges, func(e *graph.Edge) bool {
		return (e.Kind == graph.Soft || e.Kind == graph.Guard) && p.nodes[e.To].waits
	})
	p.early = p.races || slices.ContainsFunc(g.Edges, p.cancelsSiblings)
	p.needs(reads)
	return p, nil
}

// spread finds where the elements of a spread stand: with what it begins with, where nothing else reads
// them and none has to wait for its turn.
func (p *Program) spread(n *graph.Node) {
	first := &p.nodes[p.graph.Out(n.ID)[0].To]
	if n.Limit > 0 {
		first.item = n.Var
	}
	p.local[n.Var] = n.Limit == 0 && first.Kind == graph.Action && !p.live.Across(first.Node, n.Var)
}

// Graph gives the workflow's graph, which must not be changed.
func (p *Program) Graph() *graph.Graph { return p.graph }

// Hash identifies the program's definition: equal graphs have equal hashes in every process.
func (p *Program) Hash() [sha256.Size]byte { return p.hash }

// Definition is the graph's encoding, from which graph.Decode makes it again. It must not be changed.
func (p *Program) Definition() []byte { return p.definition }

// compile compiles the expressions of a node and gives the variables that they read.
func (p *Program) compile(n *node, from *graph.Node) ([]graph.VarID, error) {
	n.Node, n.item = from, graph.None
	n.waits = p.graph.Waits(from)
	var reads []graph.VarID
	make := func(e *ir.Expr) (*expression, error) {
		x, err := p.expression(from, e)
		if err == nil {
			reads = append(reads, x.vars...)
		}
		return x, err
	}
	var err error
	for _, a := range from.Args {
		x, err := make(a.Value)
		if err != nil {
			return nil, err
		}
		n.args = append(n.args, x)
	}
	for _, s := range from.Sets {
		var x, added *expression
		switch {
		case s.Append != nil:
			reads = append(reads, p.graph.Vars[s.Targets[0]].Length)
			if added, err = make(s.Append); err == nil {
				x, err = p.expression(from, s.Value)
			}
		case s.Value != nil:
			x, err = make(s.Value)
		default:
			reads = append(reads, s.From)
		}
		if err != nil {
			return nil, err
		}
		n.sets, n.added = append(n.sets, x), append(n.added, added)
	}
	for _, e := range p.graph.Out(from.ID) {
		var x *expression
		if e.Guard != nil {
			if x, err = make(e.Guard); err != nil {
				return nil, err
			}
		}
		n.guards = append(n.guards, x)
	}
	if from.Expr != nil {
		e := from.Expr
		if args := rangeArgs(e.Text); from.Kind == graph.LoopInit && args != "" {
			n.ranged = true
			e = &ir.Expr{Pos: e.Pos, Text: args}
		}
		if n.expr, err = make(e); err != nil {
			return nil, err
		}
	}
	if from.Kind == graph.LoopInit && from.Var != graph.None {
		head := &p.nodes[p.graph.Out(from.ID)[0].To]
		head.ranged = n.ranged
		p.heads[from.Var] = head
	}
	if from.Var != graph.None && (from.Kind == graph.LoopHead || from.Kind == graph.Output) {
		reads = append(reads, from.Var)
	}
	return reads, nil
}

func (p *Program) expression(n *graph.Node, e *ir.Expr) (*expression, error) {
	compiled, err := expr.Compile(e, p.limits)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	x := &expression{compiled: compiled}
	frame := p.graph.Frames[n.Frame].Names
	for _, name := range compiled.Names() {
		v, ok := frame[name]
		if !ok {
			return nil, ir.Errorf(e.Pos, "node %s: %s is not a variable here", n.Name, name)
		}
		x.vars = append(x.vars, v)
	}
	x.bare = len(x.vars) == 1 && compiled.Names()[0] == e.Text
	if len(x.vars) == 0 {
		x.constant = sync.OnceValue(func() json.RawMessage {
			v, err := compiled.Eval(nil)
			if err != nil {
				return nil
			}
			raw, failure := p.encode(&value{val: v}, e.Pos)
			if failure != nil {
				return nil
			}
			return slices.Clip(raw)
		})
	}
	return x, nil
}

// rangeArgs gives the arguments of a call of range as a list, and "" for any other expression. A loop
// over a range keeps its bounds, not its numbers: a hundred thousand of them would be read and
// decoded again for every iteration.
func rangeArgs(text string) string {
	tree, err := (&syntax.FileOptions{}).ParseExpr("", text, 0)
	if err != nil {
		return ""
	}
	call, ok := tree.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	if fn, ok := call.Fn.(*syntax.Ident); !ok || fn.Name != "range" {
		return ""
	}
	return "[" + text[len("range("):len(text)-1] + "]"
}

// EndsEarly says whether an instance can complete while node runs of it are still at work: some node
// goes on when the first of several has ended, or an error of one branch is caught where the others are
// cancelled.
func (p *Program) EndsEarly() bool { return p.early }

// cancelsSiblings says whether an edge is that of an error which leads out of a spread or parallel.
func (p *Program) cancelsSiblings(e *graph.Edge) bool {
	g := p.graph
	r, to := g.Nodes[e.From].Region, g.Nodes[e.To].Region
	for g.Regions[r].Loop && !g.Within(to, r) {
		r = g.Regions[r].Parent
	}
	return e.Kind == graph.Exception && !g.Within(to, r)
}
