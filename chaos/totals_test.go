package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos/fault"
)

// TestTotals counts runs until the goals are reached, and a failing one.
func TestTotals(t *testing.T) {
	totals := NewTotals(map[Goal]int{Cuts: 10, Crashes: 1})
	add := func(verdict Verdict, faults map[string]int) {
		totals.Add(&Result{Backend: "push", Verdict: verdict, Faults: faults, Completions: 5})
	}
	if add(Pass, map[string]int{"wire.every": 7, "wire.cut": 2, "wire.delay": 9}); totals.Enough() || totals.Reached[Cuts] != 9 {
		t.Errorf("%d cuts, enough %v, want 9 and false", totals.Reached[Cuts], totals.Enough())
	}
	if add(Pass, map[string]int{"wire.drop": 1, "postgres.kill": 1}); !totals.Passed() || totals.Faults["push"]["wire.delay"] != 9 {
		t.Errorf("%+v, want passed", totals)
	}
	totals.Add(&Result{Verdict: Pass, Lost: LostReplies{Commits: 7, Resolved: 2, Wrong: 1}})
	if add(Fail, nil); !totals.Enough() || totals.Passed() {
		t.Errorf("%+v passed with a run that failed", totals)
	}
	for _, part := range []string{"4 runs (3 pass, 1 fail, 0 inconclusive)", "of the lost commits 6 resolved rightly", "1 of 1 crashes, 10 of 10 cuts", "15 completions"} {
		if !strings.Contains(totals.Line(), part) {
			t.Errorf("%q lacks %q", totals.Line(), part)
		}
	}
}

// TestTotalsCover checks that what a run did at messages is known to the next run of its backend only.
func TestTotalsCover(t *testing.T) {
	totals := NewTotals(nil)
	totals.Add(&Result{Backend: "push", Verdict: Pass, Places: fault.NewPlaces()})
	if _, there := totals.Messages["push"]; !there {
		t.Error("of push there is no coverage")
	}
	first, second := totals.Known("push"), totals.Known("push")
	if first == second || totals.Known("journal") == nil {
		t.Error("what is known is not the caller's own")
	}
}

// TestAKilledHostIsAKilledEngine checks that a killed host counts as a kill, and that a soak spares its first engine.
func TestAKilledHostIsAKilledEngine(t *testing.T) {
	totals := NewTotals(map[Goal]int{Kills: 2})
	totals.Add(&Result{Backend: "push", Verdict: Pass, Faults: map[string]int{"host.kill": 2}})
	if !totals.Enough() {
		t.Errorf("%d kills, want 2", totals.Reached[Kills])
	}
	kill, err := fault.Find("host.kill")
	if err != nil {
		t.Fatal(err)
	}
	c := shortCase("push")
	c.EveryMS = 1000
	if plan := c.SoakPlan([]fault.Kind{kill}, 20*time.Second); len(plan) == 0 || slices.ContainsFunc(plan, func(f fault.Fault) bool { return f.Engine == 0 }) {
		t.Errorf("the plan of a soak is %v", plan)
	}
}
