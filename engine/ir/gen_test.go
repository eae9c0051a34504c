package ir

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/internal/depth"
)

type generator struct {
	*rapid.T
	loops     int
	functions []*Function
	next      int
}

func anyProgram(t *rapid.T) *Program {
	g := &generator{T: t}
	n := g.below(3, "functions") + 1
	for i := range n {
		name := mainName
		if i > 0 {
			name = fmt.Sprintf("%s%d", pick(g, "function", "f", "sleep", "spread", "größe"), i)
		}
		g.functions = append(g.functions, &Function{
			Name: Name{Text: name}, Inputs: g.distinct("inputs"), Outputs: g.distinct("outputs"),
		})
	}
	for i, fn := range g.functions {
		g.next = i + 1
		fn.Body = g.body(3)
	}
	return &Program{Functions: g.functions}
}

func (g *generator) below(n int, label string) int { return rapid.IntRange(0, n-1).Draw(g.T, label) }

func (g *generator) bool(label string) bool { return rapid.Bool().Draw(g.T, label) }

func pick[V any](g *generator, label string, of ...V) V {
	return rapid.SampledFrom(of).Draw(g.T, label)
}

// Many variables are words of statements.
func (g *generator) variable() string {
	return pick(g, "variable", "a", "b", "xs", "sleep", "spread", "parallel", "input", "output", "limit", "retry", "fn",
		"timeout", "backoff", "max", "list", "s", "ms", "ö", "_1")
}

func (g *generator) word() string {
	return pick(g, "word", "a", "b", "class", "None", "if", "in", "retry", "timeout", "input", "for", "lambda", "é")
}

func (g *generator) name() Name { return Name{Text: g.variable()} }

func (g *generator) names(least, most int) []Name {
	var names []Name
	for range least + g.below(most-least+1, "names") {
		names = append(names, g.name())
	}
	return names
}

func (g *generator) distinct(label string) []Name {
	var names []Name
	for _, text := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "input", "sleep", "max", "ö"}), 0, 3,
		rapid.ID).Draw(g.T, label) {
		names = append(names, Name{Text: text})
	}
	return names
}

func (g *generator) body(depth int) []Stmt {
	var body []Stmt
	for range 1 + g.below(3, "statements") {
		body = append(body, g.stmt(depth))
	}
	return body
}

func (g *generator) loop(depth int) []Stmt {
	g.loops++
	defer func() { g.loops-- }()
	return g.body(depth)
}

func (g *generator) stmt(depth int) Stmt {
	if depth > 0 {
		switch g.below(8, "compound") {
		case 0:
			return &For{Targets: g.names(1, 2), Over: g.expr(), Body: g.loop(depth - 1)}
		case 1:
			return &While{Cond: g.expr(), Body: g.loop(depth - 1)}
		case 2:
			return g.ifElse(depth)
		case 3:
			return g.try(depth)
		}
	}
	switch g.below(12, "simple") {
	case 0:
		return &Pass{}
	case 1:
		return &Sleep{Seconds: g.expr()}
	case 2:
		s := &Return{}
		for range g.below(3, "values") {
			s.Values = append(s.Values, g.expr())
		}
		return s
	case 3:
		if g.loops > 0 {
			return pick[Stmt](g, "leave", &Break{}, &Continue{})
		}
	}
	return &Assign{Targets: g.names(0, 3), Value: g.rhs()}
}

func (g *generator) ifElse(depth int) Stmt {
	s := &If{}
	for range 1 + g.below(3, "arms") {
		s.Arms = append(s.Arms, Arm{Cond: g.expr(), Body: g.body(depth - 1)})
	}
	if g.bool("else") {
		s.Else = g.body(depth - 1)
	}
	return s
}

func (g *generator) try(depth int) Stmt {
	s := &Try{Body: g.body(depth - 1)}
	for more := true; more; {
		h := Handler{Types: g.types(), Body: nil}
		if g.bool("as") {
			name := g.name()
			h.As = &name
		}
		h.Body = g.body(depth - 1)
		s.Handlers = append(s.Handlers, h)
		more = !catchesAll(h.Types) && g.bool("more handlers")
	}
	return s
}

func (g *generator) types() []Name {
	var types []Name
	for range g.below(3, "types") {
		types = append(types, Name{Text: pick(g, "type", "Timeout", "Declined", "Exception", "class", "retry", "None")})
	}
	return types
}

func (g *generator) rhs() RHS {
	switch g.below(5, "rhs") {
	case 0:
		s := &Parallel{}
		for range 1 + g.below(3, "together") {
			s.Do = append(s.Do, g.invocation())
		}
		return s
	case 1:
		return &Spread{Over: g.expr(), Item: g.name(), Limit: g.below(3, "limit"), Do: g.invocation()}
	case 2:
		return g.invocation()
	}
	return g.expr()
}

func (g *generator) invocation() Invocation {
	if g.next < len(g.functions) && g.bool("call") {
		fn := g.functions[g.next+g.below(len(g.functions)-g.next, "callee")]
		c := &Call{Name: fn.Name.Text}
		for _, in := range fn.Inputs {
			c.Args = append(c.Args, Arg{Name: in, Value: g.expr()})
		}
		return c
	}
	a := &Action{Name: strings.Join(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return (&generator{T: t}).word()
	}), 1, 3).Draw(g.T, "action"), ".")}
	for i := range g.below(3, "arguments") {
		a.Args = append(a.Args, Arg{Name: Name{Text: fmt.Sprintf("%s%d", g.word(), i)}, Value: g.expr()})
	}
	for range g.below(3, "retries") {
		r := Retry{Types: g.types(), Count: g.below(4, "count"), Backoff: g.duration()}
		a.Retries = append(a.Retries, r)
		if catchesAll(r.Types) {
			break
		}
	}
	a.Timeout = g.duration()
	return a
}

func (g *generator) duration() time.Duration {
	n := time.Duration(g.below(200, "duration"))
	return n * pick(g, "unit", time.Millisecond, time.Second, time.Minute, time.Hour)
}

// The parser makes the random expression canonical.
func (g *generator) expr() *Expr {
	source := g.source(3)
	p, err := Parse("expr.ir", []byte(inMain("x = ("+source+")")), Limits{})
	if err != nil {
		g.Fatalf("%v in %s", err, source)
	}
	return &Expr{Text: p.Functions[0].Body[0].(*Assign).Value.(*Expr).Text}
}

// source writes an expression with superfluous brackets, over lines, with comments. It must be inside brackets.
func (g *generator) source(depth int) string {
	text := g.operand(depth)
	switch g.below(6, "layout") {
	case 0:
		return "(" + text + ")"
	case 1:
		return " ( " + text + " )"
	case 2:
		return "(\n" + text + " # \"(\n  )"
	}
	return text
}

func (g *generator) operand(depth int) string {
	if depth == 0 {
		return pick(g, "leaf", g.variable(), "0", "7", "0x1F", "1.50", ".5e3", "1e21", "True", "None", "'it\\'s'", "\"é\\n\\t\"",
			"12345678901234567890", "[]", "{}", "'\"'")
	}
	sub := func() string { return "(" + g.source(depth-1) + ")" }
	switch g.below(16, "operator") {
	case 0, 1, 2:
		op := pick(g, "binary", "+", "-", "*", "/", "//", "%", "==", "!=", "<", ">=", "in", "not in", "and", "or")
		return sub() + " " + op + " " + sub()
	case 3:
		return "not " + sub()
	case 4:
		return "-" + sub()
	case 5:
		return sub() + " if " + sub() + " else " + sub()
	case 6:
		return sub() + "[" + g.source(depth-1) + "]"
	case 7:
		return sub() + "[" + pick(g, "low", "", g.source(depth-1)) + ":" + pick(g, "high", "", g.source(depth-1)) +
			pick(g, "step", "", ":", ":2") + "]"
	case 8:
		return "[" + g.source(depth-1) + ", " + g.source(depth-1) + pick(g, "comma", "", ",") + "]"
	case 9:
		return "{" + g.source(depth-1) + ": " + g.source(depth-1) + "}"
	case 10:
		return "[" + g.source(depth-1) + " for " + pick(g, "targets", "a", "a, b", "(a, b)", "sleep, (a, [b])") + " in " +
			sub() + pick(g, "filter", "", " if "+sub(), " for xs in a if b") + "]"
	case 11:
		return "{" + g.source(depth-1) + ": " + g.source(depth-1) + " for a in " + sub() + "}"
	case 12:
		return pick(g, "function", "len", "max", "str", "isexception") + "(" + g.source(depth-1) + ", " + g.source(depth-1) + ")"
	case 13:
		return "sorted(" + g.source(depth-1) + ", key=len, reverse=" + g.source(depth-1) + ")"
	case 14:
		return sub() + "." + pick(g, "method", "get", "split", "keys") + "(" + g.source(depth-1) + ")"
	}
	return g.operand(0)
}

// Parse must be the inverse of Print, and layout and comments must change nothing.
func TestRoundTrip(t *testing.T) {
	depth.Checks(t, 30, 300)
	rapid.Check(t, func(t *rapid.T) {
		p := anyProgram(t)
		text := Print(p)
		again, err := Parse("w.ir", []byte(text), Limits{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !Equal(p, again) {
			t.Fatalf("read as another program:\n%s\nprints as\n%s", text, Print(again))
		}
		if twice := Print(again); twice != text {
			t.Fatalf("prints as\n%s\nand then as\n%s", text, twice)
		}
		other := relayout(&generator{T: t}, text)
		again, err = Parse("w.ir", []byte(other), Limits{})
		if err != nil {
			t.Fatalf("%v in\n%s", err, other)
		}
		if !Equal(p, again) {
			t.Fatalf("the layout changes the program:\n%s", other)
		}
	})
}

func relayout(g *generator, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(pick(g, "before", "", "", "\n", "   \n", " # if x:\n", "# ä\r\n"))
		out.WriteString(strings.TrimSuffix(line, "\n"))
		out.WriteString(pick(g, "after", "\n", "\n", "\r\n", "  \n", " # end\n", "#\r\n"))
	}
	return out.String()
}
