package plan_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// Random programs run several times in random orders. A remembering program must give the plans that it would make, whatever it
// planned before, and none for an inbox with more than the event needs.
func TestRemembering(t *testing.T) {
	depth.Checks(t, 40, 400)
	all := programs.Generator(programs.Options{})
	rapid.Check(t, func(t *rapid.T) {
		drawn := all.Draw(t, "program")
		p, err := plan.CompileText("random.ir", []byte(drawn.Source), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		same := p.Remembering()
		for range 3 {
			d := newDriver(p)
			d.act, d.same = act, same
			d.pick = func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "next") }
			if err := d.run(string(drawn.Input)); err != nil {
				t.Fatalf("input %s: %v\n%s", drawn.Input, err, drawn.Source)
			}
		}
	})
}

// Events that differ in one value must not get each other's plans.
func TestRememberingApart(t *testing.T) {
	plain := compile(t, "w.ir", "fn main(input: [n], output: [r]):\n    a = @echo(value=n)\n    b = @echo(value=a)\n    r = [n, a, b]\n")
	p := plain.Remembering()
	start, err := p.Start(json.RawMessage(`{"n": 1}`))
	if err != nil || len(start.Enqueues) != 1 {
		t.Fatalf("the beginning is %+v (%v)", start, err)
	}
	pl, err := p.Step(plan.Event{Run: start.Enqueues[0].Run, Attempt: 1, Result: json.RawMessage(`2`)}, plan.Inbox{}, 0)
	if err != nil || len(pl.Enqueues) != 1 {
		t.Fatalf("the plan is %+v (%v)", pl, err)
	}
	ev := plan.Event{Run: pl.Enqueues[0].Run, Attempt: 1}
	slots := p.Needs(ev).Slots
	if len(slots) != 2 {
		t.Fatalf("needed are %v; want those of n and a", slots)
	}
	for range 2 {
		for _, values := range []string{"123", "124", "153", "623", "213"} {
			ev.Result = json.RawMessage(values[2:])
			in := plan.Inbox{Values: map[plan.Slot]json.RawMessage{slots[0]: json.RawMessage(values[:1]), slots[1]: json.RawMessage(values[1:2])}}
			want := "[" + values[:1] + "," + values[1:2] + "," + values[2:] + "]"
			if pl, err := p.Step(ev, in, 0); err != nil || pl.End == nil || string(pl.End.Result) != want {
				t.Errorf("%s gave %+v (%v); want %s", values, pl.End, err, want)
			}
		}
	}
}
