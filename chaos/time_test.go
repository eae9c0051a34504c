package chaos

import (
	"slices"
	"testing"
	"time"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/engine/oracle"
)

// TestTimeOfThePlan checks that kinds are named for which the plan's time did not suffice.
func TestTimeOfThePlan(t *testing.T) {
	r := &run{Case: cases.Case{WithinMS: 50, Faults: []fault.Fault{{Kind: "wire.cut"}, {Kind: "process.kill"}, {Kind: "wire.cut"}, {Kind: "postgres.kill"}, {Kind: "process.kill"}}}}
	r.result = newResult(r.Case)
	r.result.Faults["wire.cut"] = 1
	if got := r.unbegun(1); !slices.Equal(got, []string{"postgres.kill", "process.kill"}) {
		t.Errorf("the kinds without time are %v", got)
	}
	if got := r.unbegun(5); len(got) > 0 {
		t.Errorf("after the last one there are %v", got)
	}
	r.faulty = oracle.MachineClock() - int64(time.Second)
	if !r.timeIsOver() {
		t.Error("a second after their begin, faults of 50 ms continue")
	}
	if got := r.longestFault(fault.Fault{HoldMS: 1000}); got != overtime {
		t.Errorf("a fault that begins when the time is over may take %v", got)
	}
	if r.everywhere = true; r.longestFault(fault.Fault{HoldMS: 1000}) != time.Second+faultWithin {
		t.Error("what goes to every message is bounded by the time of the plan")
	}
	if r.WithinMS = 0; r.timeIsOver() {
		t.Error("a plan without a bound is over")
	}
	if r.WithinMS = 3_600_000; r.timeIsOver() {
		t.Error("a plan of an hour is over after a second")
	}
}
