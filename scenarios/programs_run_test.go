package scenarios_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/scenarios"
)

// By day, programs with manyRuns node runs per instance run fewer instances.
const manyRuns = 2_000

// Each program runs on the engine's own core, several instances at a time, with a different order of ends each time.
func TestProgramsRun(t *testing.T) {
	registry, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	eachRun(t, func(t *testing.T, p scenarios.Program, r scenarios.ProgramRun) {
		t.Parallel()
		g, err := graph.Compile(parse(t, p), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		program, err := plan.Compile(g)
		if err != nil {
			t.Fatal(err)
		}
		if err := registry.Check(g); err != nil {
			t.Error(err)
		}
		for seed := range depth.Of[uint64](3, 10) {
			instances := 3
			if seed == 0 {
				instances = 1
			}
			seen := drive(t, program, p, r, instances, seed)
			runs := 0
			for id, inst := range seen.Instances {
				checkEnd(t, inst, endOf(t, p, r))
				for _, n := range seen.Runs(id) {
					runs += n
				}
			}
			if runs >= manyRuns && !depth.Night() {
				break
			}
		}
	})
}

func drive(t *testing.T, program *plan.Program, p scenarios.Program, r scenarios.ProgramRun, instances int, seed uint64) *backendtest.Recording {
	t.Helper()
	subs := make([]backend.Submission, instances)
	for i := range subs {
		subs[i] = backend.Submission{ID: uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%s %d", r.Input, i)), Program: program, Input: r.Input}
	}
	calls := actions(t)
	limit := timeoutOf(t, p)
	calls["sleep"] = func(args json.RawMessage, _ int) (json.RawMessage, *plan.Failure) {
		var given struct{ MS json.RawMessage }
		if err := json.Unmarshal(args, &given); err != nil {
			t.Error(err)
		}
		if failed := slept(given.MS, limit); failed != nil {
			return nil, &plan.Failure{Type: failed.Type, Message: failed.Message}
		}
		return json.RawMessage("null"), nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	store := memory.New(memory.Options{})
	defer store.Close()
	seen, err := backendtest.Drive(ctx, store, subs, backendtest.DriveConfig{Actions: calls, Workers: 2, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	if err := seen.Check(); err != nil {
		t.Error(err)
	}
	return seen
}

func checkEnd(t *testing.T, inst backend.Instance, want reference.End) {
	t.Helper()
	got := reference.End{Status: reference.Status(inst.Status), Result: inst.Result}
	if f := inst.Failure; f != nil {
		got.Error = &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
	}
	gotText, wantText := fmt.Sprintf("%s %s %v", got.Status, got.Result, got.Error), fmt.Sprintf("%s %s %v", want.Status, want.Result, want.Error)
	if want.Error == nil && got.Error == nil {
		a, errA := expr.Decode(got.Result, ir.Limits{})
		b, errB := expr.Decode(want.Result, ir.Limits{})
		if errA == nil && errB == nil && reference.Same(a, b) && got.Status == want.Status {
			return
		}
	}
	if gotText != wantText {
		t.Errorf("%s\nthe program says %s", gotText, wantText)
	}
}
