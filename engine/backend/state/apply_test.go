package state

import (
	"encoding/json"
	"testing"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// TestSoftArrivalsCountOnce wants the soft arrivals at a barrier to count once, all together.
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

// resumed is a core that clears what stands under 1 when it goes on from a run.
type resumed struct{ cleared }

func (resumed) Step(plan.Event, plan.Inbox, float64) (plan.Plan, error) {
	return plan.Plan{Clears: []plan.Clear{{Path: "1"}}}, nil
}

// TestClearsComeLast wants what any of the plans clears to go, whichever plan has made it.
func TestClearsComeLast(t *testing.T) {
	inst := &Instance{Core: resumed{}}
	tx := (&Space{}).Begin(0)
	write := func(path graph.Path) plan.Write {
		return plan.Write{Slot: plan.Slot{Var: 1, Scope: path}, Value: json.RawMessage("1")}
	}
	first := plan.Plan{
		Writes:  []plan.Write{write("0"), write("1.2"), write("10")},
		Clears:  []plan.Clear{{Path: "0"}},
		Resumes: []graph.Run{{Node: 7}},
	}
	if _, err := tx.Apply(inst, first); err != nil {
		t.Fatal(err)
	}
	if _, left := inst.Slots.Get(Address{1, "10"}); inst.Slots.Len() != 1 || !left {
		t.Errorf("%d values are left; want that under 10 alone", inst.Slots.Len())
	}
}
