package oracle

import (
	"fmt"
	"strings"
	"testing"

	"pulley/internal/referencetest"

	"pulley/engine/graph"
)

// Runs start, are offered and answered in the order of words: a run is "x" from start to answer, or its parts "x<" (started),
// "x>" (offered) and "x!" (applied); "x%" is applied as a failure.
func steps(words string) string {
	var b strings.Builder
	b.WriteString("submitted i\n")
	tokens := map[string]int{}
	for _, w := range strings.Fields(words) {
		run := strings.TrimRight(w, "<>!%")
		if tokens[run] == 0 {
			tokens[run] = len(tokens) + 1
		}
		part := w[len(run):]
		if part == "" {
			part = "<>!"
		}
		for _, p := range part {
			switch p {
			case '<':
				fmt.Fprintf(&b, "started i %s token=%d action=x args={}\n", run, tokens[run])
			case '>':
				fmt.Fprintf(&b, "offered i %s token=%d\n", run, tokens[run])
			case '!':
				fmt.Fprintf(&b, "answered i %s token=%d answer=applied\n", run, tokens[run])
			case '%':
				fmt.Fprintf(&b, "answered i %s token=%d answer=applied error=Odd\n", run, tokens[run])
			}
		}
	}
	return b.String()
}

func build(t *testing.T, b *graph.Builder) *graph.Graph {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func compiled(t *testing.T, src string) *graph.Graph {
	t.Helper()
	prog := referencetest.Program(t, src)
	g, err := graph.Compile(prog, graphLimits)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestOrder(t *testing.T) {
	diamond := graph.New("diamond")
	a := diamond.Action("a", "x")
	b, c := diamond.Action("b", "x").After(a), diamond.Action("c", "x").After(a)
	d := diamond.Action("d", "x").After(b, c)
	diamond.Output("d").After(d)

	race := graph.New("race")
	a, b, c = race.Action("a", "x"), race.Action("b", "x"), race.Action("c", "x")
	d = race.Action("d", "x").After(a).AfterAny(b, c)
	race.Output("d").After(d)

	choice := graph.New("choice")
	a = choice.Action("a", "x")
	b, c = choice.Action("b", "x"), choice.Action("c", "x")
	choice.Branch("which").After(a).Case("a > 1", b).Else(c)
	d = choice.Action("d", "x").AfterAny(b, c)
	choice.Output("d").After(d)

	loop := compiled(t, "fn main(input: [n], output: []):\n\tfor i in range(n):\n\t\ta = @a()\n\t\tif a:\n\t\t\t@b()\n\t\t\tif a > 1:\n\t\t\t\tbreak\n\t\t@c()\n\t@d()\n")
	nested := compiled(t, "fn main(input: [n], output: []):\n\t@a()\n\twhile n:\n\t\tspread n:x -> @b(x=x)\n\t\tparallel:\n\t\t\t@c()\n\t\t\t@c2()\n\t@d()\n")
	graphs := map[string]*graph.Graph{"diamond": build(t, diamond), "race": build(t, race), "choice": build(t, choice), "loop": loop, "nested": nested}

	for _, c := range []struct{ graph, words, want string }{
		{"diamond", "a b c d", ""},
		{"diamond", "a c< b< c>! b>! d", ""},
		{"diamond", "b a c d", "b started before a had committed"},
		{"diamond", "a b d c", "d started before c had committed"},
		{"diamond", "a b d", "d started, and c has not committed"},
		{"diamond", "a b c< d", "d started, and c has not committed"},
		{"diamond", "a b d c<>", "d started before c had committed"},
		{"diamond", "a b c<> d", ""},    // the outcome of c is unknown: its process may have died
		{"diamond", "a b c<> d c!", ""}, // the answer was recorded late
		{"race", "a b d c", ""},
		{"race", "a c d", ""},
		{"race", "b c d a", "d started before a had committed"},
		{"race", "a d b c", "d started before b had committed"},
		{"race", "a d", "d started, and d has not committed"},
		{"choice", "a b d", ""},
		{"choice", "a c d", ""},
		{"choice", "c a d", "c started before a had committed"},
		{"choice", "a d c", "d started before c had committed"},
		{"loop", "a[0] c[0] a[1] b[1] c[1] a[2] b[2] d", ""},
		{"loop", "d", "no action that waits"},
		{"loop", "a[0] b[0] d", ""},
		{"loop", "a[0] c[0] b[0] d", "c[0] started before b[0] had committed"},
		{"loop", "a[0] a[1] c[0] c[1] d", "a[1] started before c[0] had committed"},
		{"loop", "a[0] c[0] a[1] d c[1]", "d started before c[1] had committed"},
		{"loop", "a[0] c[0] a[1] c[1]< d", "d started, and c[1] has not committed"},
		{"loop", "a[0] c[0] a[2] c[2] d", "a[2] started, and"},
		{"nested", "a b[0.1] b[0.0] c[0] c2[0] c[1] c2[1] b[2.0] c2[2] c[2] d", ""},
		{"nested", "a b[0.0] c[0] b[0.1] c2[0] d", "c[0] started before b[0.1] had committed"},
		{"nested", "a b[0.0] c2[0] b[1.0] c[0] c[1] c2[1] d", "b[1.0] started before c[0] had committed"},
		{"nested", "a b[0.0] c2[0] c[0] b[1.0] c[1] d c2[1]", "d started before c2[1] had committed"},
		{"nested", "b[0.0] a c[0] c2[0] d", "b[0.0] started before a had committed"},
		{"nested", "a b[0.0]<>% b[0.1]< c[0] c2[0] d", ""}, // after a caught failure siblings may still run
	} {
		t.Run(c.graph+" "+c.words, func(t *testing.T) {
			rules := Rules{Invariants: []string{"I5"}, Graph: func(string) *graph.Graph { return graphs[c.graph] }}
			report := judge(t, steps(c.words), rules)
			if (c.want == "") != (report.Result() == Holds) || !strings.Contains(report.String(), c.want) {
				t.Errorf("want %q, got %s", c.want, report)
			}
			rules.Partial = true
			if got := judge(t, steps(c.words), rules); strings.Contains(c.want, "has not committed") && got.Result() == Violated {
				t.Errorf("from the absence of a line: %s", got)
			}
		})
	}
}
