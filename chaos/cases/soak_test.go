package cases

import (
	"slices"
	"testing"
	"time"

	"pulley/chaos/fault"
)

// TestSoakPlan spares the first engine, and only from what ends processes.
func TestSoakPlan(t *testing.T) {
	c := Case{Engines: 2, Seed: 3, EveryMS: 1000, LeaseMS: 1000, CallMS: 1000}
	first := 0
	plan := c.SoakPlan(fault.Kinds(), 10*time.Minute)
	kinds := len(fault.Kinds()) - 1 // process.every is none of a soak
	longest := map[string]int{}
	for _, f := range plan[:kinds] {
		longest[f.Kind] = f.HoldMS
	}
	longer := 0
	for _, f := range plan[kinds:] {
		if f.HoldMS > longest[f.Kind] {
			longer++
		}
	}
	if len(longest) != kinds || longer > len(plan)/20 {
		t.Errorf("%d of %d kinds come first; %d of %d later faults last longer than the first of their kind", len(longest), kinds, longer, len(plan)-kinds)
	}
	for _, f := range plan {
		if f.Engine == 0 && slices.Contains(ends, f.Kind) || f.Kind == "process.every" {
			t.Errorf("%s ends the first engine", f)
		}
		if f.Engine == 0 {
			first++
		}
	}
	if first < 100 {
		t.Errorf("%d faults hit the first engine", first)
	}
}

// TestNap has a soak see as many rounds of the server's vacuum as the day that it stands for.
func TestVacuumPause(t *testing.T) {
	for _, c := range []struct{ length, pause time.Duration }{
		{10 * time.Second, time.Second}, {30 * time.Minute, time.Second}, {8 * time.Hour, 20 * time.Second}, {24 * time.Hour, 0},
	} {
		if got := (Case{Soak: true, LastMS: int(c.length.Milliseconds())}).VacuumPause(); got != c.pause {
			t.Errorf("in a soak of %v vacuum comes round every %v; want %v", c.length, got, c.pause)
		}
	}
}

// TestWindows has both windows of a soak see every kind of fault, where there is the time.
func TestWindows(t *testing.T) {
	plan := []fault.Fault{{Kind: "a"}, {Kind: "b"}, {Kind: "a"}}
	for _, c := range []struct {
		last, every      int // seconds
		isSteady, window float64
	}{{1800, 10, 300, 180}, {1800, 100, 300, 200}, {60, 100, 10, 25}} {
		isSteady, window := Case{Soak: true, LastMS: 1000 * c.last, EveryMS: 1000 * c.every, Faults: plan}.Windows()
		if isSteady != c.isSteady || window != c.window {
			t.Errorf("a soak of %d s with a fault every %d s has windows of %v s after %v s; want %v and %v", c.last, c.every, window, isSteady, c.window, c.isSteady)
		}
	}
}
