package state_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
	"pulley/internal/depth"
)

type pair struct {
	*rapid.T
	tx    state.Tx
	inst  *state.Instance
	model *model.Instance[struct{}]
	end   *plan.End
}

// TestAgainstModel runs random programs in random order, rolls some steps back and repeats them, and compares the state with the
// model after each.
func TestAgainstModel(t *testing.T) {
	depth.Checks(t, 60, 2000)
	all := programs.Generator(programs.Options{})
	steps, undone := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		drawn := all.Draw(t, "program")
		space := state.Space{Rules: state.Rules{KeepDone: rapid.Bool().Draw(t, "keep done")}}
		p := newPair(t, &space, drawn)
		for ; p.end == nil; steps++ {
			open := p.inst.RunsInOrder()
			if len(open) == 0 {
				t.Fatal("nothing is left to run, and there is no end")
			}
			r := open[rapid.IntRange(0, len(open)-1).Draw(t, "run")]
			ev := p.ran(r)
			if rapid.IntRange(0, 3).Draw(t, "undo") == 0 {
				before, place := p.stored(), p.tx.Savepoint()
				p.complete(r, ev)
				if p.tx.Rollback(place); p.stored() != before {
					t.Fatalf("what was taken back leaves\n%s\nwant\n%s", p.stored(), before)
				}
				undone++
			}
			p.both(r, ev)
		}
	})
	if steps < 100 || undone == 0 {
		t.Errorf("inconclusive: %d steps, and %d more were taken back", steps, undone)
	}
}

func newPair(t *rapid.T, space *state.Space, drawn programs.Program) *pair {
	tree, err := ir.Parse("random.ir", []byte(drawn.Source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		t.Skip("too large")
	}
	program, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	begin, err := program.Start(drawn.Input)
	if err != nil {
		t.Skip("the input is refused")
	}
	p := &pair{T: t, tx: space.Begin(0), inst: &state.Instance{Core: program}}
	p.model = model.New(program, model.Watch[struct{}]{
		Wrong:    func(invariant, format string, args ...any) { t.Fatalf(invariant+": "+format, args...) },
		Enqueued: func(*plan.Enqueue) struct{} { return struct{}{} },
	})
	p.tx.Begin(p.inst)
	end, err := p.tx.Apply(p.inst, begin)
	if err != nil {
		t.Fatal(err)
	}
	p.follow(begin, end)
	return p
}

func (p *pair) ran(r *state.Run) plan.Event {
	ev := plan.Event{Run: r.Key, Attempt: int(r.Attempt), Result: json.RawMessage("null")}
	args, err := r.AssembleArgs()
	if err != nil {
		p.Fatal(err)
	}
	if act := backendtest.Actions()[r.Action]; act != nil {
		ev.Result, ev.Failure = act(args, ev.Attempt)
	}
	return ev
}

func (p *pair) complete(r *state.Run, ev plan.Event) *plan.End {
	pl, err := p.tx.Step(p.inst, ev, 0)
	if err != nil {
		p.Fatal(err)
	}
	if pl.Retry != nil {
		p.tx.Retry(r, pl.Retry.After)
		return nil
	}
	p.tx.Done(r)
	end, err := p.tx.Apply(p.inst, pl)
	if err != nil {
		p.Fatal(err)
	}
	return end
}

func (p *pair) both(r *state.Run, ev plan.Event) {
	pl, err := p.model.Step(ev, 0)
	if err != nil {
		p.Fatal(err)
	}
	end := p.complete(r, ev)
	if pl.Retry == nil {
		delete(p.model.Runs, ev.Run)
		p.follow(pl, end)
	}
}

func (p *pair) follow(pl plan.Plan, end *plan.End) {
	var err error
	p.end, err = p.model.Fixpoint(pl, func(ev plan.Event) (plan.Plan, error) {
		pl, err := p.model.Step(ev, 0)
		if p.model.Program.Needs(ev).Elements && !p.tx.Space.KeepDone {
			p.model.Forget(ev.Run)
		}
		return pl, err
	})
	if err != nil {
		p.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", end), fmt.Sprintf("%+v", p.end); (end == nil) != (p.end == nil) || end != nil && string(end.Result) != string(p.end.Result) {
		p.Fatalf("the end is %s; want %s", got, want)
	}
	if p.end == nil && p.shape() != p.wanted() {
		p.Fatalf("there is\n%s\nwant\n%s", p.shape(), p.wanted())
	}
	if n := p.inst.Size(); p.end == nil && n != p.inst.Bytes {
		p.Fatalf("it takes %d bytes, and %d were counted", n, p.inst.Bytes)
	}
}

func (p *pair) shape() string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, r := range p.inst.RunsInOrder() {
		line("run %v", r.Key)
	}
	p.inst.Barriers.Each(func(a state.Address, b *state.Barrier) {
		if b.Required != 0 {
			line("barrier %d %s: %d of %d, soft %t", a.ID, a.Path, b.Completed, b.Required, b.Soft)
		}
		for i, v := range b.Elements {
			if v != nil {
				line("element %d %s %d: %s", a.ID, a.Path, i, v)
			}
		}
	})
	p.inst.Slots.Each(func(a state.Address, v state.Value) {
		line("slot %d %s: %s", a.ID, a.Path, v.Base)
		for i, more := range v.Appended {
			line("appended %d %s %d: %s", a.ID, a.Path, i, more)
		}
	})
	return sorted(lines)
}

func (p *pair) wanted() string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for run := range p.model.Runs {
		line("run %v", run)
	}
	for run, c := range p.model.Counters {
		line("barrier %d %s: %d of %d, soft %t", run.Node, run.Path, c.Completed, c.Required, c.Soft)
	}
	for run, list := range p.model.Elements {
		for _, e := range list {
			line("element %d %s %d: %s", run.Node, run.Path, e.Index, e.Value)
		}
	}
	for slot, v := range p.model.Values {
		line("slot %d %s: %s", slot.Var, slot.Scope, v)
	}
	for slot, list := range p.model.Appended {
		for _, a := range list {
			line("appended %d %s %d: %s", slot.Var, slot.Scope, a.Index, a.Value)
		}
	}
	return sorted(lines)
}

func (p *pair) stored() string {
	var lines []string
	p.inst.Runs.Each(func(a state.Address, r *state.Run) {
		lines = append(lines, fmt.Sprintf("%v %+v %d args", a, r.RunState, len(r.Args)))
	})
	return fmt.Sprintf("%s\n%s\n%d bytes", p.shape(), sorted(lines), p.inst.Bytes)
}

func sorted(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
