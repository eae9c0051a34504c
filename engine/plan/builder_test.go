package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

func built(t testing.TB, b *graph.Builder) *plan.Program {
	t.Helper()
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func arg(name, text string) graph.Arg { return graph.Arg{Name: name, Value: graph.X(text)} }

var graphs = []struct {
	name, input string
	build       func(b *graph.Builder)
}{
	{"diamond", `{"n": 2}`, func(b *graph.Builder) {
		top := b.Action("top", "double", arg("value", "n"))
		left := b.Action("left", "add", arg("a", "top"), arg("b", "1")).After(top)
		right := b.Action("right", "add", arg("a", "top"), arg("b", "n")).After(top)
		bottom := b.Action("bottom", "add", arg("a", "left"), arg("b", "right")).After(left, right)
		b.Output("[top, bottom]").After(bottom)
	}},
	{"soft", `{"n": 2}`, func(b *graph.Builder) {
		fast, slow := b.Action("fast", "echo", arg("value", "n")), b.Action("slow", "double", arg("value", "n"))
		first := b.Action("first", "echo", arg("value", "n + 1")).AfterAny(fast, slow)
		b.Output("[first, slow]").After(first, slow)
	}},
	{"branch", `{"n": 2}`, func(b *graph.Builder) {
		x := b.Action("x", "double", arg("value", "n"))
		small, big := b.Action("small", "echo", arg("value", "x")), b.Action("big", "noop")
		b.Branch("size").After(x).Else(small).Case("x > 10", big)
		end := b.Action("end", "echo", arg("value", "x")).AfterAny(small, big)
		b.Output("end").After(end)
	}},
	{"nocase", `{"n": 2}`, func(b *graph.Builder) {
		x := b.Action("x", "noop")
		b.Branch("size").Case("n > 10", x)
		b.Output("1").AfterAny(x, b.Action("y", "noop"))
	}},
	{"twocases", `{"n": 2}`, func(b *graph.Builder) {
		x, y, z := b.Action("x", "echo", arg("value", "n")), b.Action("y", "noop"), b.Action("z", "noop")
		b.Branch("b1").Case("n > 1", x).Else(y)
		b.Branch("b2").Case("n < 5", x).Else(z)
		b.Output("n").AfterAny(x, y, z)
	}},
	{"goon", `{"n": 2}`, func(b *graph.Builder) {
		x := b.Action("x", "fail", arg("type", `"Boom"`)).Retry(graph.Retry{Count: 1}).OnError(graph.Continue)
		b.Output(`[isexception(x, "Boom"), x["message"]]`).After(x)
	}},
	{"map", `{"n": [3, 1, 2]}`, func(b *graph.Builder) {
		scale := b.Action("scale", "double", arg("value", "len(n)"))
		each := b.Each("sizes", "x", "n")
		y := each.Action("y", "double", arg("value", "x + scale"))
		small, big := each.Action("small", "echo", arg("value", "y")), each.Action("big", "double", arg("value", "y"))
		each.Branch("size").After(y).Case("x > 1", big).Else(small)
		each.Output("[x, big if x > 1 else small]").AfterAny(small, big)
		b.Output("sizes").After(each.Map(2).After(scale))
	}},
	{"for", `{"n": [3, 1, 2]}`, func(b *graph.Builder) {
		each := b.Each("sums", "x", "n")
		left, right := each.Action("left", "echo", arg("value", "x")), each.Action("right", "double", arg("value", "x"))
		each.Output("left + right + (sums[-1] if sums else 0)").After(left, right)
		b.Output("[sums, n]").After(each.For())
	}},
	{"fold", `{"n": [3, 1, 2]}`, func(b *graph.Builder) {
		start := b.Action("start", "echo", arg("value", "len(n)"))
		each := b.Each("sum", "x", "n")
		left, right := each.Action("left", "echo", arg("value", "x")), each.Action("right", "add", arg("a", "sum"), arg("b", "x"))
		each.Output("left + right").After(left, right)
		b.Output("[sum, n]").After(each.Fold("start").After(start))
	}},
	{"stragglers", `{"n": [3, 1, 2]}`, func(b *graph.Builder) {
		each := b.Each("rounds", "x", "n")
		fast, slow := each.Action("fast", "echo", arg("value", "x")), each.Action("slow", "double", arg("value", "x"))
		each.Output("x").AfterAny(fast, slow)
		b.Output("rounds").After(each.For())
	}},
	{"nested", `{"n": [[1, 2], [], [3]]}`, func(b *graph.Builder) {
		outer := b.Each("rows", "row", "n")
		inner := outer.Each("cells", "cell", "row")
		sums := inner.Each("sums", "i", "range(cell)")
		sums.Output("cell + i")
		inner.Output("sums + [len(rows)]").After(sums.Map(0))
		cells := inner.Map(0)
		again := outer.Each("again", "c", "cells")
		z := again.Action("z", "echo", arg("value", "c"))
		again.Output("z").After(z)
		outer.Output("[cells, again]").After(cells, again.For().After(cells))
		b.Output("rows").After(outer.For())
	}},
}

func TestGraphTraces(t *testing.T) {
	for _, c := range graphs {
		t.Run(c.name, func(t *testing.T) {
			b := graph.New(c.name, "n")
			c.build(b)
			d := newDriver(built(t, b))
			d.act = act
			if err := d.run(c.input); err != nil {
				t.Fatalf("%v\n%s", err, d.trace.String())
			}
			file := "testdata/graphs/" + c.name + ".trace"
			if *update {
				if err := os.WriteFile(file, []byte(d.trace.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), d.trace.String()); diff != "" {
				t.Errorf("the trace changed (-want +got); if it should, run with -update\n%s", diff)
			}
		})
	}
}

// written counts the bytes that a program's plans write to the inbox and to arguments.
func written(t *testing.T, source, input string) int {
	t.Helper()
	d := newDriver(compile(t, "test.ir", source))
	d.act = act
	bytes := 0
	d.watch = func(pl plan.Plan) error {
		for _, w := range pl.Writes {
			bytes += len(w.Value)
		}
		for _, e := range pl.Elements {
			bytes += len(e.Value)
		}
		for _, e := range pl.Enqueues {
			for _, a := range e.Args {
				bytes += len(a.Value)
			}
		}
		return nil
	}
	if err := d.run(input); err != nil {
		t.Fatal(err)
	}
	if d.end.Failure != nil {
		t.Fatal(d.end.Failure)
	}
	return bytes
}

// D12: a chain's bytes must grow with its length, not with its square, and a fan-out must pass a large value once.
func TestBytesWritten(t *testing.T) {
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("fn main(input: [n], output: [r]):\n    x0 = n\n")
		for i := range n {
			fmt.Fprintf(&b, "    x%d = @echo(value=x%d)\n", i+1, i)
		}
		fmt.Fprintf(&b, "    r = x%d\n", n)
		return b.String()
	}
	input := `{"n": "` + strings.Repeat("x", 500) + `"}`
	if small, large := written(t, chain(50), input), written(t, chain(200), input); large > 5*small {
		t.Errorf("four times the chain wrote %d bytes, before %d", large, small)
	}
	fan := "fn main(input: [n], output: [r]):\n    xs = spread range(200):i -> @double(value=n)\n    r = len(n)\n"
	size := 100_000
	if got := written(t, fan, `{"n": "`+strings.Repeat("x", size)+`"}`); got > 2*size {
		t.Errorf("a fan-out of 200 wrote %d bytes for a value of %d", got, size)
	}
}

const hostile = `fn main(input: [n], output: [r]):
    r = []
    for x in n:
        xs = spread range(3):i -> @add(a=i, b=x)
        for i in range(x, 9):
            a, b = parallel:
                @echo(value=n)
                @flaky(times=1) [retry: 2000000000]
            r = r + [a]
    return r
`

func step(t rapid.TB, p *plan.Program, ev plan.Event, inbox plan.Inbox) {
	p.Needs(ev)
	pl, err := p.Step(ev, inbox, 0.5)
	if err != nil && !errors.Is(err, plan.ErrEvent) {
		t.Fatalf("%+v: %v is not ErrEvent", ev, err)
	}
	p.Describe(pl)
	p.RunName(ev.Run)
	again, _ := p.Step(ev, inbox, 0.5)
	if p.Describe(again) != p.Describe(pl) {
		t.Fatalf("%+v is planned in two ways", ev)
	}
}

func TestHostileEvents(t *testing.T) {
	b := graph.New("g", "n")
	graphs[2].build(b)
	programs := []*plan.Program{compile(t, "hostile.ir", hostile), built(t, b)}
	paths := []string{"", "0", "0.0", "1.2", "0.0.0", "-3", "-3.-2", "a", ".", "00", "99999999999999999999", "9223372036854775807", "1.9223372036854775807", "100000.100000"}
	values := []string{"", "null", "1", "[]", "[1,2]", "[[1],2,3]", `"x"`, "{", `{"Start":-9223372036854775808,"Stop":9223372036854775807,"Step":-1}`, `{"Start":0,"Stop":3,"Step":1}`, "[,]", "1e999", "\xff"}
	value := rapid.Map(rapid.SampledFrom(values), func(s string) json.RawMessage { return json.RawMessage(s) })
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(programs).Draw(t, "program")
		ev := plan.Event{
			Run:     graph.Run{Node: graph.NodeID(rapid.IntRange(-1, len(p.Graph().Nodes)).Draw(t, "node")), Path: graph.Path(rapid.SampledFrom(paths).Draw(t, "path"))},
			Attempt: rapid.SampledFrom([]int{-1, 0, 1, 2, 1 << 30}).Draw(t, "attempt"),
			Fired:   rapid.Bool().Draw(t, "fired"),
			Result:  value.Draw(t, "result"),
		}
		if rapid.Bool().Draw(t, "failed") {
			ev.Failure = &plan.Failure{Type: rapid.SampledFrom([]string{"", "Flaky"}).Draw(t, "type")}
		}
		inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}}
		for v := range p.Graph().Vars {
			if rapid.Bool().Draw(t, "there") {
				inbox.Values[plan.Slot{Var: graph.VarID(v)}] = value.Draw(t, "value")
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			inbox.Elements = append(inbox.Elements, plan.Element{Index: rapid.IntRange(-1, 3).Draw(t, "index"), Value: value.Draw(t, "element")})
		}
		step(t, p, ev, inbox)
	})
}

func FuzzStep(f *testing.F) {
	p := compile(f, "hostile.ir", hostile)
	f.Add(5, "0", 1, "3", "[1,2]", false)
	f.Add(9, "0.1", 1, "null", `{"Start":0,"Stop":3,"Step":1}`, true)
	f.Fuzz(func(t *testing.T, node int, path string, attempt int, result, value string, fired bool) {
		inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}, Elements: []plan.Element{{Value: json.RawMessage(value)}}}
		for v := range p.Graph().Vars {
			inbox.Values[plan.Slot{Var: graph.VarID(v)}] = json.RawMessage(value)
		}
		step(t, p, plan.Event{Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}, Attempt: attempt, Result: json.RawMessage(result), Fired: fired}, inbox)
	})
}

func TestInputs(t *testing.T) {
	p := compile(t, "in.ir", "fn main(input: [a, b], output: [a]):\n    pass\n")
	none := compile(t, "in.ir", "fn main(input: [], output: []):\n    pass\n")
	for _, c := range []struct {
		p           *plan.Program
		input, want string
	}{
		{p, `{"a": 1}`, `input: "b" is missing; the workflow takes a, b`},
		{p, `{"a": 1, "b": 2, "c": 3}`, `input: "c" is not an input of the workflow, which takes a, b`},
		{p, `[1]`, `input: a JSON object is wanted, not list; the workflow takes a, b`},
		{none, `3`, `input: a JSON object is wanted, not int; the workflow takes nothing; give {}`},
	} {
		_, err := c.p.Start(json.RawMessage(c.input))
		var bad *plan.InputError
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("%s: %v", c.input, err)
		}
	}
	if _, err := p.Start(json.RawMessage("{")); err == nil {
		t.Error("broken JSON is taken")
	}
}

// Each limit must end the instance with an error that names it.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name, body, want string
		limits           ir.Limits
	}{
		{"loop", "for i in range(9):\n        x = 1", "loop iterations", ir.Limits{LoopIterations: 5}},
		{"spread", "x = spread range(9):i -> @noop()", "elements of a spread", ir.Limits{SpreadElements: 5}},
		{"steps", "while True:\n        x = 1", "inline steps per completion", ir.Limits{InlineSteps: 50}},
		{"list of results", `x = spread range(9):i -> @echo(value="12345678")`, "bytes of the list of results", ir.Limits{ValueBytes: 60}},
	} {
		p, err := plan.CompileText("limit.ir", []byte("fn main(input: [], output: [x]):\n    "+c.body+"\n"), c.limits)
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(p)
		d.act = act
		if err := d.run("{}"); err != nil {
			t.Fatal(err)
		}
		if f := d.end.Failure; f == nil || !strings.Contains(f.Message, c.want) || f.Pos.Line != 2 && f.Pos.Line != 3 {
			t.Errorf("%s: %v", c.name, f)
		}
	}
}
