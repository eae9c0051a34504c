package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

func at(t *testing.T, p *plan.Program, name string, path graph.Path) graph.Run {
	t.Helper()
	for _, n := range p.Graph().Nodes {
		if n.Name == name {
			return graph.Run{Node: n.ID, Path: path}
		}
	}
	t.Fatalf("no node %s", name)
	return graph.Run{}
}

func slot(t *testing.T, p *plan.Program, name string, scope graph.Path) plan.Slot {
	t.Helper()
	for i, v := range p.Graph().Vars {
		if v.Name == name {
			return plan.Slot{Var: graph.VarID(i), Scope: scope}
		}
	}
	t.Fatalf("no variable %s", name)
	return plan.Slot{}
}

func TestFatal(t *testing.T) {
	p := compile(t, "w.ir", `fn main(input: [], output: []):
    a = @free()
    try:
        try:
            a = @inner()
        except A, B:
            a = @handler()
    except C:
        pass
    try:
        a = @any()
    except Exception:
        pass
`)
	for _, c := range []struct {
		node, typ string
		want      bool
	}{
		{"free", "A", true}, {"inner", "A", false}, {"inner", "B", false}, {"inner", "C", false}, {"inner", "D", true},
		{"handler", "A", true}, {"handler", "C", false}, {"any", "Anything", false},
	} {
		ev := plan.Event{Run: at(t, p, c.node, ""), Attempt: 1, Failure: &plan.Failure{Type: c.typ}}
		if got := p.Fatal(ev); got != c.want {
			t.Errorf("%s of @%s is fatal: %v", c.typ, c.node, got)
		}
		pl, err := p.Step(ev, plan.Inbox{}, 0.5)
		if err != nil || (pl.End != nil && pl.End.Failure != nil) != c.want {
			t.Errorf("%s of @%s, though, plans %s, %v", c.typ, c.node, p.Describe(pl), err)
		}
	}
	if p.Fatal(plan.Event{Run: at(t, p, "free", ""), Attempt: 1}) || p.Fatal(plan.Event{Run: graph.Run{Node: 999}, Failure: &plan.Failure{}}) {
		t.Error("what is no failure is fatal")
	}

	b := graph.New("goon")
	b.Output("1").After(b.Action("x", "noop").OnError(graph.Continue))
	p = built(t, b)
	if p.Fatal(plan.Event{Run: at(t, p, "x", ""), Attempt: 1, Failure: &plan.Failure{Type: "A"}}) {
		t.Error("an error that is gone on from is fatal")
	}
}

// No plan has written these inboxes: they must be refused, or fail the instance, and never pass for a value.
func TestBrokenInbox(t *testing.T) {
	p := compile(t, "w.ir", `fn main(input: [n], output: [r]):
    r = []
    for x in n:
        y = @echo(value=x)
        r = r + [y]
    z = @echo(value=r)
    ys = spread n:x -> @echo(value=x)
    zs = parallel:
        @noop()
        @noop()
`)
	length, list, kept := slot(t, p, "%len(r)", ""), slot(t, p, "r", ""), slot(t, p, "%for", "c0")
	values := func(pairs ...any) map[plan.Slot]json.RawMessage {
		out := map[plan.Slot]json.RawMessage{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(plan.Slot)] = json.RawMessage(pairs[i+1].(string))
		}
		return out
	}
	done := plan.Event{Run: at(t, p, "echo", "0"), Attempt: 1, Result: json.RawMessage("1")}
	full := plan.Event{Run: at(t, p, "spread_all", ""), Fired: true}
	both := plan.Event{Run: at(t, p, "parallel_all", ""), Fired: true}
	for _, c := range []struct {
		name  string
		ev    plan.Event
		inbox plan.Inbox
		want  string // the instance's failure, or an error if it begins with "event"
	}{
		{"no length", done, plan.Inbox{Values: values(kept, "[1,2]")}, "ExpressionError: r has no value here"},
		{"no length, but a value", done, plan.Inbox{Values: values(list, "[]", kept, "[1,2]")}, "ExpressionError: the length of r is lost"},
		{"a length that is none", done, plan.Inbox{Values: values(length, "[]", kept, "[1,2]")}, "ExpressionError: what was kept of it cannot be read:"},
		{"no elements", done, plan.Inbox{Values: values(length, `{"n":0,"b":2}`)}, "ExpressionError: the loop has lost what it goes over"},
		{"elements that are no list", done, plan.Inbox{Values: values(length, `{"n":0,"b":2}`, kept, "3")}, "ExpressionError: the loop has lost what it goes over"},
		{"elements that are no value", done, plan.Inbox{Values: values(length, `{"n":0,"b":2}`, kept, "[")}, "ValueError: JSON at byte 1"},
		{"a gap in what was appended", done, plan.Inbox{Values: values(length, `{"n":2,"b":6}`, list, "[]"), Appended: map[plan.Slot][]plan.Append{list: {{Slot: list, Index: 1, Value: json.RawMessage("1")}}}}, "event does not fit"},
		{"appended to no list", done, plan.Inbox{Values: values(list, "3"), Appended: map[plan.Slot][]plan.Append{list: {{Slot: list, Value: json.RawMessage("1")}}}}, "event does not fit"},
		{"an element twice", full, plan.Inbox{Elements: []plan.Element{{Index: 0, Value: json.RawMessage("1")}, {Index: 0, Value: json.RawMessage("2")}}}, "event does not fit"},
		{"an element missing", full, plan.Inbox{Elements: []plan.Element{{Index: 1, Value: json.RawMessage("1")}}}, "event does not fit"},
		{"one of two", both, plan.Inbox{Elements: []plan.Element{{Index: 0, Value: json.RawMessage("1")}}}, "event does not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pl, err := p.Step(c.ev, c.inbox, 0.5)
			switch {
			case strings.HasPrefix(c.want, "event"):
				if !errors.Is(err, plan.ErrEvent) {
					t.Errorf("planned, %v:\n%s", err, p.Describe(pl))
				}
			case err != nil:
				t.Error(err)
			case pl.Resumes != nil:
				pl, err = p.Step(plan.Event{Run: pl.Resumes[0], Fired: true}, c.inbox, 0.5)
				fallthrough
			default:
				if err != nil || pl.End == nil || pl.End.Failure == nil || !strings.HasPrefix(pl.End.Failure.Type+": "+pl.End.Failure.Message, c.want) {
					t.Errorf("%v\n%swant %s", err, p.Describe(pl), c.want)
				}
			}
		})
	}
}

func TestEventsThatCannotBe(t *testing.T) {
	p := compile(t, "w.ir", "fn main(input: [n], output: [n]):\n    for i in n:\n        n = @echo(value=i)\n")
	run := at(t, p, "echo", "0")
	for name, ev := range map[string]plan.Event{
		"no node":       {Run: graph.Run{Node: 999}},
		"a short path":  {Run: graph.Run{Node: run.Node}},
		"a wrong path":  {Run: graph.Run{Node: run.Node, Path: "00"}},
		"no barrier":    {Run: run, Fired: true},
		"no action":     {Run: at(t, p, "loop_exit", "")},
		"a far element": {Run: graph.Run{Node: run.Node, Path: "100001"}},
	} {
		if needs := p.Needs(ev); len(needs.Slots) > 0 || needs.Elements {
			t.Errorf("%s needs %+v", name, needs)
		}
		if pl, err := p.Step(ev, plan.Inbox{}, 0.5); !errors.Is(err, plan.ErrEvent) || pl.End != nil {
			t.Errorf("%s is planned: %v", name, err)
		}
		if _, _, err := p.JudgeAttempt(ev, 0.5); !errors.Is(err, plan.ErrEvent) {
			t.Errorf("%s is settled: %v", name, err)
		}
	}
	if c := p.Cleared(99); len(c.Runs)+len(c.Barriers)+len(c.Vars) > 0 {
		t.Errorf("a region that there is not holds %+v", c)
	}
}

// A value's limit holds wherever values are put together.
func TestValueLimit(t *testing.T) {
	for name, body := range map[string]string{
		"appended":         "r = []\nfor i in range(9):\n    @noop()\n    r = r + [\"12345678\"]",
		"appended at once": "r = []\nfor i in range(9):\n    r = r + [\"12345678\"]",
		"an argument":      "r = @echo(value=\"1234567890\" * 7)",
		"a result":         "r = \"1234567890\" * 7",
	} {
		got := outcome(t, body, "1", ir.Limits{ValueBytes: 60})
		if !strings.Contains(got, ": LimitExceeded: ") || !strings.Contains(got, "is over the limit of 60") {
			t.Errorf("%s: %s", name, got)
		}
	}
	short := outcome(t, "r = []\nfor i in range(5):\n    @noop()\n    r = r + [\"12345678\"]", "1", ir.Limits{ValueBytes: 60})
	if len(short) != 56 {
		t.Errorf("a list of %d bytes came through as %s", 56, short)
	}
}
