package state_test

import (
	"fmt"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
)

// workflow is a core with a name.
type workflow struct {
	state.Core
	name string
}

// newRuns makes ready runs of an instance, which Turns gets in their order.
func newRuns(turns *state.Turns, of workflow, n int) []*state.Run {
	inst, runs := &state.Instance{Core: of}, make([]*state.Run, n)
	for i := range runs {
		runs[i] = &state.Run{Inst: inst, Key: graph.Run{Node: graph.NodeID(i)}, RunState: state.RunState{Place: state.Ready}}
		turns.Push(runs[i])
	}
	return runs
}

func always(*state.Run) bool { return true }

// drain takes everything, and names each run by its workflow, its instance in the order of the first turns, and its node.
func drain(turns *state.Turns, order backend.Order) string {
	var out []string
	seen := map[*state.Instance]int{}
	for r := turns.Next(order, always); r != nil; r = turns.Next(order, always) {
		if _, ok := seen[r.Inst]; !ok {
			seen[r.Inst] = len(seen)
		}
		out = append(out, fmt.Sprintf("%s%d.%d", r.Inst.Core.(workflow).name, seen[r.Inst], r.Key.Node))
	}
	return strings.Join(out, " ")
}

func TestTurns(t *testing.T) {
	var turns state.Turns
	a, b := workflow{name: "a"}, workflow{name: "b"}
	first := newRuns(&turns, a, 4)
	newRuns(&turns, a, 2)
	newRuns(&turns, b, 3)
	for _, r := range first {
		turns.Push(r) // it is there
	}
	if got, want := drain(&turns, backend.ByWorkflow), "a0.0 b1.0 a2.0 b1.1 a0.1 b1.2 a2.1 a0.2 a0.3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if r := turns.Next(backend.ByWorkflow, always); r != nil {
		t.Errorf("%+v comes of nothing", r)
	}
}

// Each instance has as many turns as the others, whatever its workflow.
func TestTurnsOfInstances(t *testing.T) {
	var turns state.Turns
	newRuns(&turns, workflow{name: "a"}, 3)
	newRuns(&turns, workflow{name: "a"}, 2)
	newRuns(&turns, workflow{name: "b"}, 2)
	if got, want := drain(&turns, backend.ByInstance), "a0.0 a1.0 b2.0 a0.1 a1.1 b2.1 a0.2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What one order has handed out, the other skips, and what comes later has turns in both.
func TestMixedTurns(t *testing.T) {
	var turns state.Turns
	runs := newRuns(&turns, workflow{name: "a"}, 3)
	newRuns(&turns, workflow{name: "b"}, 1)
	for range 3 {
		for _, order := range []backend.Order{backend.ByInstance, backend.ByWorkflow} {
			seen := 0
			for r := turns.Next(order, always); r != nil; r = turns.Next(order, always) {
				seen++
			}
			if seen != len(runs) && seen != len(runs)+1 {
				t.Errorf("order %d gives %d runs", order, seen)
			}
			for _, r := range runs {
				turns.Push(r)
			}
		}
	}
	if got, want := drain(&turns, backend.ByInstance), "a0.0 a0.1 a0.2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What is not ready any more, or not wanted, is skipped; it may join again.
func TestSkippedTurns(t *testing.T) {
	var turns state.Turns
	runs := newRuns(&turns, workflow{name: "a"}, 4)
	runs[0].Place = state.Leased
	if r := turns.Next(backend.ByWorkflow, func(r *state.Run) bool { return r != runs[1] }); r != runs[2] {
		t.Errorf("%+v, want the third", r)
	}
	runs[0].Place = state.Ready
	turns.Push(runs[0])
	turns.Push(runs[1])
	if got, want := drain(&turns, backend.ByWorkflow), "a0.3 a0.0 a0.1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What was forgotten joins others anew.
func TestForgottenTurns(t *testing.T) {
	var turns, again state.Turns
	runs := newRuns(&turns, workflow{name: "a"}, 3)
	turns.Forget()
	if r := turns.Next(backend.ByWorkflow, always); r != nil {
		t.Errorf("%+v was not forgotten", r)
	}
	for _, r := range runs {
		again.Push(r)
	}
	if got, want := drain(&again, backend.ByWorkflow), "a0.0 a0.1 a0.2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
