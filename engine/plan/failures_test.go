package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
)

func TestFailures(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"for x in n:\n        pass", "a for goes over a list or the keys of a dict, not over a int"},
		{"for x in late:\n        late = 1", "late has no value here"},
		{"x = spread n:i -> @noop()", "a spread goes over a list or the keys of a dict, not over a int"},
		{"x = spread 1 // 0:i -> @noop()", "division by zero"},
		{"for x in range(0, 9, 0):\n        pass", "step"},
		{"for x in range(\"a\"):\n        pass", "range takes ints"},
		{"for x in range(2.5):\n        pass", "range takes ints"},
		{"if 1 // 0:\n        pass", "division by zero"},
		{"while 1 // 0:\n        pass", "division by zero"},
		{"a, b = [1]", "a list of 1 cannot be unpacked into 2 names"},
		{"for a, b in [1]:\n        pass", "a int cannot be unpacked into 2 names"},
		{"x = @echo(value=[1][n + 5])", "index"},
		{"if n > 9:\n        x = 1\n    @echo(value=x)", "x has no value here"},
		{"if n > 9:\n        x = 1\n    return x", "x has no value here"},
	} {
		t.Run(c.body, func(t *testing.T) {
			source := "fn main(input: [n], output: []):\n    " + c.body + "\n"
			d := newDriver(compile(t, "fail.ir", source))
			d.act = act
			if err := d.run(`{"n": 3}`); err != nil {
				t.Fatal(err)
			}
			if d.end.Failure == nil || !strings.Contains(d.end.Failure.Message, c.want) || d.end.Failure.Pos.Line == 0 {
				t.Errorf("got %v, want %s", d.end.Failure, c.want)
			}
			prog, err := ir.Parse("fail.ir", []byte(source), ir.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want := reference.Interpret(prog, json.RawMessage(`{"n": 3}`), referenceAction, reference.Options{})
			if differs := want.Differs(ended(d.end)); differs != "" {
				t.Error(differs)
			}
		})
	}
}

func TestGoesOverAnything(t *testing.T) {
	for _, over := range []string{`{"a": 1, "b": 2}`, "range(5)[1:3]", "range(3, 0, -1)", "range(1, 9, 4)", "range(5, 1)", "reversed([1, 2])", `"ab".elems()`, "enumerate(n)", "[x for x in n]"} {
		source := "fn main(input: [n], output: [r]):\n    r = []\n    for x in " + over + ":\n        y = @echo(value=x)\n        r = r + [y]\n    s = spread " + over + ":z -> @echo(value=z)\n    r = [r, s]\n"
		prog, err := ir.Parse("over.ir", []byte(source), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(compile(t, "over.ir", source))
		d.act = act
		if err := d.run(`{"n": [4, 5]}`); err != nil {
			t.Fatal(err)
		}
		want := reference.Interpret(prog, json.RawMessage(`{"n": [4, 5]}`), referenceAction, reference.Options{})
		if differs := want.Differs(ended(d.end)); differs != "" {
			t.Errorf("%s: %s", over, differs)
		}
	}
}

func TestProgramIdentity(t *testing.T) {
	const source = "fn main(input: [n], output: [n]):\n    n = @double(value=n)\n"
	p, same, other := compile(t, "a.ir", source), compile(t, "a.ir", source), compile(t, "a.ir", strings.Replace(source, "double", "echo", 1))
	if p.Hash() != same.Hash() || !slices.Equal(p.Definition(), same.Definition()) {
		t.Error("the same text makes two programs")
	}
	if p.Hash() == other.Hash() {
		t.Error("two texts make one program")
	}
	b := graph.New("soft", "n")
	graphs[1].build(b)
	if p.EndsEarly() || !built(t, b).EndsEarly() {
		t.Error("only a graph that continues after the first of several can end early")
	}
	for body, want := range map[string]bool{
		"try:\n        parallel:\n            @a()\n            @b()\n    except:\n        pass":   true,
		"try:\n        for x in n:\n            spread n:y -> f(n=y)\n    except A:\n        pass": true,
		"try:\n        for x in n:\n            @a()\n    except:\n        pass":                   false,
		"spread n:y -> g(n=y)":                            false,
		"try:\n        f(n=n)\n    except:\n        pass": false,
	} {
		p := compile(t, "ends.ir", "fn main(input: [n], output: [n]):\n    "+body+"\n\nfn f(input: [n], output: [n]):\n    @a()\n\n"+
			"fn g(input: [n], output: [n]):\n    try:\n        @a()\n    except:\n        pass\n")
		if p.EndsEarly() != want {
			t.Errorf("ends early: %v\n%s", !want, body)
		}
	}
}

func TestImpossibleEvents(t *testing.T) {
	p := compile(t, "hostile.ir", hostile)
	for _, c := range []struct {
		ev   plan.Event
		want string
	}{
		{plan.Event{Run: graph.Run{Node: 99}}, "there is no node 99"},
		{plan.Event{Run: graph.Run{Node: -1}}, "there is no node -1"},
		{plan.Event{}, "node input is no action"},
		{plan.Event{Fired: true}, "node input is no barrier"},
		{plan.Event{Run: graph.Run{Path: "0"}}, `node input has runs of 0 parts, not "0"`},
		{plan.Event{Run: graph.Run{Node: 3, Path: "-3"}}, `has no run "-3"; its parts are numbers from 0`},
	} {
		if _, err := p.Step(c.ev, plan.Inbox{}, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.ev, err)
		}
	}
	if got := p.RunName(graph.Run{Node: 99}); got != "node 99" {
		t.Error(got)
	}
}

func TestJudgeAttempt(t *testing.T) {
	p := compile(t, "settle.ir", "fn main(input: [n], output: [n]):\n    n = @echo(value=n) [Flaky -> retry: 2, backoff: 1s]\n")
	start, err := p.Start(json.RawMessage(`{"n": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ev     plan.Event
		failed string
		retry  bool
	}{
		{plan.Event{Attempt: 1, Result: json.RawMessage("7")}, "", false},
		{plan.Event{Attempt: 1, Result: json.RawMessage("{")}, "ResultError", false},
		{plan.Event{Attempt: 2, Failure: &plan.Failure{Type: "Flaky"}}, "Flaky", true},
		{plan.Event{Attempt: 3, Failure: &plan.Failure{Type: "Flaky"}}, "Flaky", false},
		{plan.Event{Attempt: 1, Failure: &plan.Failure{}}, "Error", false},
	} {
		c.ev.Run = start.Enqueues[0].Run
		got, retry, err := p.JudgeAttempt(c.ev, 0.5)
		if err != nil {
			t.Fatal(err)
		}
		if (got.Failure == nil) != (c.failed == "") || got.Failure != nil && (got.Failure.Type != c.failed || got.Failure.Action != "echo" || got.Result != nil) {
			t.Errorf("%+v is settled as %+v", c.ev, got.Failure)
		}
		pl, err := p.Step(c.ev, plan.Inbox{}, 0.5)
		if err != nil || (pl.Retry != nil) != c.retry || (retry != nil) != c.retry || c.retry && *pl.Retry != *retry {
			t.Errorf("%+v: Step retries %v, Settle %v, want %v", c.ev, pl.Retry, retry, c.retry)
		}
	}
	if _, _, err := p.JudgeAttempt(plan.Event{}, 0); err == nil {
		t.Error("an impossible event is settled")
	}
}
