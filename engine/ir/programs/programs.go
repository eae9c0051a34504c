package programs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/ir"
)

// Program is a program with an input for its main. Its actions are built-in ones: add, double, echo, fail, flaky, hash, items,
// noop and sum.
type Program struct {
	Source string          `json:"source"`
	Input  json.RawMessage `json:"input"`
}

// GoString shows the program as text; rapid prints its draws with it.
func (p Program) GoString() string {
	return fmt.Sprintf("a program with the input %s:\n%s", p.Input, p.Source)
}

// Options choose the programs. The zero value is the whole language.
type Options struct {
	// Tame programs complete: no name lacks a value, and every failure is caught.
	Tame bool

	// Python keeps to what means the same in Python, so that [Python] can print the programs. Unless Tame, errors may be
	// uncaught, and expressions may fail where nothing would catch that in Python.
	Python bool
}

// Generator draws programs.
func Generator(opts Options) *rapid.Generator[Program] {
	return rapid.Custom(func(t *rapid.T) Program {
		g := &generator{t: t, python: opts.Python, policies: map[string]policy{}}
		g.fails = !opts.Tame && rapid.IntRange(0, 4).Draw(t, "wild") == 4
		g.wild = g.fails && !opts.Python
		return g.program()
	})
}

// generator is a program in progress, with what is known at the current place.
type generator struct {
	t      *rapid.T
	fails  bool
	wild   bool // names may lack a value, too, and limits be exceeded
	python bool

	policies map[string]policy // by called action; in Python, each action has one

	have  map[string]bool // names of this function with a value on every path to here
	maybe map[string]bool // names of this function with a value on some path
	dead  bool            // unreachable

	result kind
	loops  int
	depth  int
	calls  int
	below  int
	rounds int             // bound on how often this place runs
	spent  int             // bound on the program's action calls so far
	caught map[string]bool // error types caught here; Exception stands for all
	raised map[string]bool // error types that leave this function

	counters  int // while loops
	functions []*function
}

type function struct {
	*ir.Function
	result kind
	cost   int // bound on the action calls of one call
	depth  int
	raised map[string]bool
}

type policy struct {
	retries []ir.Retry
	timeout time.Duration
}

const (
	mainMax    = 8 // statements in each half of main
	blockMax   = 4
	depthMax   = 3
	callsMax   = 2
	roundsMax  = 36
	spentMax   = 120 // action calls
	sliceMax   = 3
	literalMax = 3
)

func (g *generator) n(k int) int { return rapid.IntRange(0, k-1).Draw(g.t, "n") }

// one draws one of several, the simplest first.
func (g *generator) one(of ...string) string { return of[g.n(len(of))] }

// seldom is true once in k times.
func (g *generator) seldom(k int) bool { return g.n(k) == k-1 }

// several draws between least and most things, each of which shrinking can leave out.
func several[V any](g *generator, least, most int, one func() V) []V {
	outer := g.t
	defer func() { g.t = outer }()
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) V {
		g.t = t
		return one()
	}), least, most).Draw(outer, "several")
}

// Functions are written where they are first called.
func (g *generator) program() Program {
	g.rounds, g.caught, g.raised = 1, map[string]bool{}, map[string]bool{}
	g.have, g.maybe = map[string]bool{}, map[string]bool{}
	g.result = anything
	inputs, input := g.mainInputs()
	most := []int{1, mainMax, mainMax, mainMax / 2}[g.n(4)] // a small one shows a bug that small ones have
	body := append(g.block(most), g.block(most)...)
	main := &ir.Function{Name: name("main"), Inputs: names(inputs), Outputs: names(g.known()), Body: body}
	prog := &ir.Program{}
	for _, f := range g.functions {
		prog.Functions = append(prog.Functions, f.Function)
	}
	prog.Functions = append(prog.Functions, main)
	return Program{Source: ir.Print(prog), Input: input}
}

func (g *generator) mainInputs() (inputs []string, input json.RawMessage) {
	var fields []string
	for range g.n(3) {
		in := g.one("a", "xs", "v", "s")
		if g.have[in] {
			continue
		}
		g.assigned(in)
		inputs = append(inputs, in)
		value := map[string]func() string{
			"a":  func() string { return g.one("0", "1", "2", "5", "7") },
			"xs": func() string { return g.one("[]", "[1]", `[1,"x",null]`, `[[2],{"k":3},4.5]`) },
			"v": func() string {
				return g.one("null", "true", "1.5", `{"k":[1,{"k":2}]}`, `"`+strings.Repeat("é", 700)+`"`)
			},
			"s": func() string { return g.one(`""`, `"x"`, `"a\nb"`) },
		}[in]()
		fields = append(fields, fmt.Sprintf("%q:%s", in, value))
	}
	return inputs, json.RawMessage("{" + strings.Join(fields, ",") + "}")
}

func name(text string) ir.Name { return ir.Name{Text: text} }

func names(texts []string) []ir.Name {
	var out []ir.Name
	for _, text := range texts {
		out = append(out, name(text))
	}
	return out
}

func expression(text string) *ir.Expr { return &ir.Expr{Text: text} }
