package state

import (
	"encoding/json"
	"testing"
	"time"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

func TestSoftArrivalsCountOnce(t *testing.T) {
	inst := &Instance{Core: cleared{}}
	tx := (&Space{}).Begin(0)
	soft := plan.Arrival{Run: graph.Run{Node: 2}, Required: 2, Soft: true}
	if _, err := tx.Apply(inst, plan.Plan{Arrivals: []plan.Arrival{soft, soft, soft}}); err != nil {
		t.Fatal(err)
	}
	if b, _ := inst.Barriers.Get(OfRun(soft.Run)); b.Completed != 1 || !b.Soft {
		t.Errorf("three soft arrivals make %+v; want one", b.Counts)
	}
}

type resumed struct{ cleared }

func (resumed) Step(plan.Event, plan.Inbox, float64) (plan.Plan, error) {
	return plan.Plan{Clears: []plan.Clear{{Path: "1"}}}, nil
}

// TestClearsComeLast checks that clears remove what any plan of the transaction has made, and that the plan is unchanged:
// programs return the same plan again.
func TestClearsComeLast(t *testing.T) {
	inst := &Instance{Core: resumed{}}
	tx := (&Space{}).Begin(0)
	write := func(path graph.Path) plan.Write {
		return plan.Write{Slot: plan.Slot{Var: 1, Scope: path}, Value: json.RawMessage("1")}
	}
	clears := append(make([]plan.Clear, 0, 2), plan.Clear{Path: "0"})
	first := plan.Plan{
		Writes:  []plan.Write{write("0"), write("1.2"), write("10")},
		Clears:  clears,
		Resumes: []graph.Run{{Node: 7}},
	}
	if _, err := tx.Apply(inst, first); err != nil {
		t.Fatal(err)
	}
	if _, left := inst.Slots.Get(Address{1, "10"}); inst.Slots.Len() != 1 || !left {
		t.Errorf("%d values are left; want that under 10 alone", inst.Slots.Len())
	}
	if behind := clears[:2][1]; behind != (plan.Clear{}) {
		t.Errorf("behind the clears of the plan stands %+v", behind)
	}
}

// TestRunsAreDue checks since when a run is ready, until when it waits, and that the transaction reports a wait. A finished run
// keeps no arguments.
func TestRunsAreDue(t *testing.T) {
	inst := &Instance{Core: cleared{}}
	tx := (&Space{Rules: Rules{KeepDone: true}}).Begin(100)
	enqueued := func(node graph.NodeID, after time.Duration) *Run {
		e := plan.Enqueue{Run: graph.Run{Node: node}, Args: []plan.Arg{{Name: "x", Value: json.RawMessage("1")}}, After: after}
		if _, err := tx.Apply(inst, plan.Plan{Enqueues: []plan.Enqueue{e}}); err != nil {
			t.Fatal(err)
		}
		r, _ := inst.Runs.Get(OfRun(e.Run))
		return r
	}
	is := func(r *Run, place Place, attempt int32, due int64) {
		t.Helper()
		if want := (RunState{Place: place, Attempt: attempt, Due: due}); r.RunState != want {
			t.Errorf("node %d is %+v; want %+v", r.Key.Node, r.RunState, want)
		}
	}
	now := enqueued(1, 0)
	if is(now, Ready, 1, 100); tx.Timed {
		t.Error("something waits, before anything does")
	}
	later := enqueued(2, 7)
	if is(later, Waiting, 1, 107); !tx.Timed {
		t.Error("nothing waits, and node 2 does")
	}
	tx.Now = 200
	tx.Retry(now, 0)
	is(now, Ready, 2, 200)
	tx.Retry(later, 5)
	is(later, Waiting, 2, 205)
	tx.Done(now)
	if is(now, NoQueue, 2, 0); now.Args != nil {
		t.Errorf("node 1 is done, and keeps %d arguments", len(now.Args))
	}
}
