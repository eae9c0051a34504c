package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/syntax"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Program is a graph ready to run: with compiled expressions, liveness and reads. It is immutable and safe for concurrent use.
type Program struct {
	graph      *graph.Graph
	limits     ir.Limits
	definition []byte
	hash       [sha256.Size]byte
	nodes      []node
	live       *graph.Live
	local      []bool // by variable: a spread's element that is never in the inbox
	heads      map[graph.VarID]*node
	races      bool // some node continues after the first of several
	early      bool // see EndsEarly
	cleared    []Cleared
	memo       *memo // see Remembering; may be nil
	variants   *variants
}

type node struct {
	*graph.Node
	expr   *expression
	args   []*expression
	sets   []*expression // nil: copies a variable
	added  []*expression // by set: what it appends, or nil
	guards []*expression // by edge out; nil for an else
	waits  bool
	item   graph.VarID // on the first node of a limited spread's branches: the variable of the element
	fork   *graph.Node // an aggregate's spread or parallel
	ranged bool        // expr has the arguments of a range, not its elements

	needs      readSet       // after its action or barrier, up to the next frontier; sorted
	caught     readSet       // after its action has failed; sorted
	fired      readSet       // when it starts by itself, except an aggregate; sorted
	wholeReads []graph.VarID // accumulators that it reads: the traversal stops before it
}

// loopsOverList reports whether the node heads a loop over a list, which is stored in chunks.
func (p *Program) loopsOverList(n *node) bool {
	return n.Kind == graph.LoopHead && n.Var != graph.None && !n.ranged
}

// resumes excludes starts as a barrier.
func (p *Program) resumes(n *node) bool {
	return len(n.wholeReads) > 0 || p.loopsOverList(n) || n.item != graph.None
}

type expression struct {
	compiled *expr.Compiled
	vars     []graph.VarID
	bare     bool

	// constant returns the JSON value of an expression without names, made once; nil if that fails, and evaluation must report
	// how. The function is nil if there are names.
	constant func() json.RawMessage
}

// CompileText makes a program from its text. name stands for its file in errors.
func CompileText(name string, text []byte, limits ir.Limits) (*Program, error) {
	g, err := graph.CompileText(name, text, limits)
	if err != nil {
		return nil, err
	}
	return Compile(g)
}

// Compile makes a program from a checked graph. It fails only if an expression does.
func Compile(g *graph.Graph) (*Program, error) {
	definition, err := graph.Encode(g)
	if err != nil {
		return nil, err
	}
	p := &Program{graph: g, limits: g.Limits.WithDefaults(), definition: definition, hash: sha256.Sum256(definition), variants: &variants{}}
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

// spread decides where a spread's elements are stored: with the first node of a branch, if nothing else reads them and none
// waits for its turn.
func (p *Program) spread(n *graph.Node) {
	first := &p.nodes[p.graph.Out(n.ID)[0].To]
	if n.Limit > 0 {
		first.item = n.Var
	}
	p.local[n.Var] = n.Limit == 0 && first.Kind == graph.Action && !p.live.Across(first.Node, n.Var)
}

// Graph returns the workflow's graph, which must not be changed.
func (p *Program) Graph() *graph.Graph { return p.graph }

// Workflow returns the workflow's name: that of its file, without the directory. It may be empty.
func (p *Program) Workflow() string { return p.graph.Name[strings.LastIndexByte(p.graph.Name, '/')+1:] }

// Hash identifies the program's definition: equal graphs have equal hashes in every process.
func (p *Program) Hash() [sha256.Size]byte { return p.hash }

// Definition returns the graph's encoding, for graph.Decode. It must not be changed.
func (p *Program) Definition() []byte { return p.definition }

// compile also returns the variables that the node's expressions read.
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

// rangeArgs returns the arguments of a call of range as a list, or "" for any other expression. A loop over a range keeps its
// bounds, not its numbers: those would be read and decoded in every iteration.
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

// EndsEarly reports whether an instance can complete while node runs of it are still running: some node continues after the
// first of several, or a caught failure of one branch cancels others.
func (p *Program) EndsEarly() bool { return p.early }

func (p *Program) cancelsSiblings(e *graph.Edge) bool {
	g := p.graph
	r, to := g.Nodes[e.From].Region, g.Nodes[e.To].Region
	for g.Regions[r].Loop && !g.Within(to, r) {
		r = g.Regions[r].Parent
	}
	return e.Kind == graph.Exception && !g.Within(to, r)
}
