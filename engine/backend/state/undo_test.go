package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

func picture(s *Space, inst *Instance) string {
	lines := []string{fmt.Sprintf("space %d, instance %d, gone %t", s.Bytes, inst.Bytes, inst.Detached)}
	inst.Runs.Each(func(a Address, r *Run) {
		lines = append(lines, fmt.Sprintf("run %v %+v %d args", a, r.RunState, len(r.Args)))
	})
	inst.Barriers.Each(func(a Address, b *Barrier) {
		lines = append(lines, fmt.Sprintf("barrier %v %+v %q", a, b.Counts, b.Elements))
	})
	inst.Slots.Each(func(a Address, v Value) { lines = append(lines, fmt.Sprintf("slot %v %s %s", a, v.Base, v.Appended)) })
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestUndo makes every kind of change to an instance, some twice, and rolls back one savepoint after the other: each must restore
// the state at that point.
func TestUndo(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep=%t", keep), func(t *testing.T) { undoAll(t, &Space{Rules: Rules{KeepDone: keep}}) })
	}
}

func undoAll(t *testing.T, space *Space) {
	inst := &Instance{Core: cleared{}}
	tx := space.Begin(100)
	tx.Begin(inst)
	slot := plan.Slot{Var: 1, Scope: "0"}
	value := json.RawMessage(`"v"`)
	apply := func(p plan.Plan) func() {
		return func() {
			t.Helper()
			if _, err := tx.Apply(inst, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(node graph.NodeID, path graph.Path) graph.Run { return graph.Run{Node: node, Path: path} }
	calls := func(path graph.Path, n int) (out []plan.Enqueue) {
		for i := range n {
			out = append(out, plan.Enqueue{Run: run(graph.NodeID(i), path), Action: "a", Args: []plan.Arg{{Name: "x", Value: value}}})
		}
		return out
	}
	of := func(node graph.NodeID, path graph.Path) *Run {
		r, _ := inst.Runs.Get(OfRun(run(node, path)))
		return r
	}
	called := 0
	changes := []func(){
		apply(plan.Plan{Enqueues: calls("0", 3)}),
		apply(plan.Plan{Enqueues: calls("1.0", 2*listMax)}), // more than a table keeps as a list
		apply(plan.Plan{Writes: []plan.Write{{Slot: slot, Value: json.RawMessage(`[]`)}}, Appends: []plan.Append{{Slot: slot, Value: value}}}),
		apply(plan.Plan{Appends: []plan.Append{{Slot: slot, Index: 1, Value: value}}}),
		apply(plan.Plan{Writes: []plan.Write{{Slot: slot, Value: value, Drops: true}}}),
		apply(plan.Plan{Opens: []plan.Open{{Run: run(50, "0"), Required: 3}}, Elements: []plan.Element{{Barrier: run(50, "0"), Index: 1, Value: value}}}),
		apply(plan.Plan{Elements: []plan.Element{{Barrier: run(50, "0"), Index: 4, Value: value}, {Barrier: run(50, "0"), Index: 1, Value: json.RawMessage("2")}}}),
		apply(plan.Plan{Arrivals: []plan.Arrival{{Run: run(50, "0"), Soft: true}, {Run: run(51, "0"), Required: 2}, {Run: run(50, "0"), Soft: true}}}),
		apply(plan.Plan{Elements: []plan.Element{{Barrier: run(52, "0"), Value: value}}}),
		apply(plan.Plan{Opens: []plan.Open{{Run: run(52, "0"), Required: 2}}}), // after an element came
		func() { tx.gather(inst, plan.Event{Run: run(50, "0")}) },
		func() {
			tx.Set(of(0, "0"), RunState{Place: Leased, Attempt: 1, Due: 7, Token: 3})
			tx.Set(of(1, "0"), RunState{Attempt: 4})
		},
		func() { tx.Done(of(0, "0")) },
		func() { tx.Retry(of(2, "0"), 5) },
		apply(plan.Plan{Writes: []plan.Write{{Slot: slot}, {Slot: plan.Slot{Var: 9}}}}),
		func() { tx.Undone(func() { called++ }) },
		apply(plan.Plan{Writes: []plan.Write{{Slot: slot, Value: value}}, Clears: []plan.Clear{{Path: "0"}}}),
		func() { tx.Empty(inst) },
	}
	var places []Savepoint
	var before []string
	for _, change := range changes {
		places, before = append(places, tx.Savepoint()), append(before, picture(space, inst))
		change()
		if n := inst.Size(); !inst.Detached && n != inst.Bytes {
			t.Fatalf("after change %d the instance takes %d bytes, and %d were counted", len(places)-1, n, inst.Bytes)
		}
	}
	if n := len(slices.Compact(slices.Clone(before))); n < len(changes)-2 { // the caller's change, and with KeepDone a gathering, are invisible
		t.Fatalf("inconclusive: %d changes make %d pictures", len(changes), n)
	}
	for i := len(places) - 1; i >= 0; i-- {
		tx.Rollback(places[i])
		if got := picture(space, inst); got != before[i] {
			t.Errorf("after change %d was taken back there is\n%s\nwant\n%s", i, got, before[i])
		}
	}
	if called != 1 || len(tx.Requeued) != 0 {
		t.Errorf("after the rollback: %d calls, %d moved; want 1, 0", called, len(tx.Requeued))
	}
	tx.Rollback(Savepoint{})
	if space.Bytes != 0 || inst.Bytes != 0 {
		t.Errorf("what was taken back takes %d bytes, %d in all", inst.Bytes, space.Bytes)
	}
}

type cleared struct{}

func (cleared) Needs(plan.Event) plan.Needs                             { return plan.Needs{} }
func (cleared) Step(plan.Event, plan.Inbox, float64) (plan.Plan, error) { return plan.Plan{}, nil }
func (cleared) BarrierEvents(graph.Run, int, int, int) []plan.Event     { return nil }
func (cleared) RunName(run graph.Run) string                            { return fmt.Sprint(run) }
func (cleared) Cleared(graph.RegionID) plan.Cleared {
	return plan.Cleared{Runs: []graph.NodeID{0, 2}, Barriers: []graph.NodeID{50, 51}, Vars: []graph.VarID{1}}
}

// TestDoneIsKept checks that KeepDone refuses a second enqueue of a finished run, and an arrival at an opened aggregate.
func TestDoneIsKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		space := &Space{Rules: Rules{KeepDone: keep}}
		inst := &Instance{Core: cleared{}}
		tx := space.Begin(0)
		run, agg := graph.Run{Node: 1}, graph.Run{Node: 2}
		begin := plan.Plan{Enqueues: []plan.Enqueue{{Run: run}}, Arrivals: []plan.Arrival{{Run: agg, Required: 1}}}
		if _, err := tx.Apply(inst, begin); err != nil {
			t.Fatal(err)
		}
		r, _ := inst.Runs.Get(OfRun(run))
		tx.Done(r)
		tx.gather(inst, plan.Event{Run: agg})
		_, again := tx.Apply(inst, plan.Plan{Enqueues: begin.Enqueues})
		_, beyond := tx.Apply(inst, plan.Plan{Arrivals: begin.Arrivals})
		if (again != nil) != keep || (beyond != nil) != keep {
			t.Errorf("keep=%t: a second enqueue gives %v, a second arrival %v", keep, again, beyond)
		}
	}
}

func TestFinalKeepsNothing(t *testing.T) {
	space, inst := &Space{}, &Instance{Core: cleared{}}
	tx := space.Begin(0)
	tx.Final = true
	if _, err := tx.Apply(inst, plan.Plan{Enqueues: []plan.Enqueue{{Run: graph.Run{Node: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if n := len(tx.undo.changes) + len(tx.Requeued); n != 0 || inst.Runs.Len() != 1 {
		t.Errorf("%d entries were recorded, and there are %d runs; want 0, 1", n, inst.Runs.Len())
	}
}

// TestTransactionsLeaveMemory has two transactions open at once: neither may write into the other's lists, and the memory that is
// left must be empty.
func TestTransactionsLeaveMemory(t *testing.T) {
	space := &Space{}
	first := space.Begin(0)
	first.Set(&Run{}, RunState{Attempt: 1})
	first.Leave()
	if n := len(space.spare.undo.changes) + len(space.spare.requeued); n != 0 || cap(space.spare.undo.changes) == 0 || cap(space.spare.requeued) == 0 {
		t.Fatalf("a transaction leaves %d entries, with room for %d and %d; want none, and some", n, cap(space.spare.undo.changes), cap(space.spare.requeued))
	}
	if c := space.spare.undo.changes[:1][0]; c.run != nil {
		t.Errorf("a transaction leaves %+v", c)
	}
	one, two := space.Begin(0), space.Begin(0)
	a, b := &Run{}, &Run{}
	one.Set(a, RunState{Attempt: 1})
	two.Set(b, RunState{Attempt: 2})
	if one.undo.changes[0].run != a || one.Requeued[0] != a || two.undo.changes[0].run != b || two.Requeued[0] != b {
		t.Error("two transactions share their memory")
	}
	one.undo.changes = make([]change, 1, spareMax+1)
	if one.Leave(); space.spare.undo.changes != nil {
		t.Errorf("room for %d entries is kept; want at most %d", cap(space.spare.undo.changes), spareMax)
	}
}
