package scenarios_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

const deadline = 15 * time.Minute

// actions are pulley's built-in ones, and that of traces.
func actions(t *testing.T) map[string]backendtest.Func {
	t.Helper()
	registry, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	err = registry.Add(worker.Action{Name: wfformat.ActionTask, Run: func(_ context.Context, call worker.Call) (any, error) {
		task, err := wfformat.ParseTask(call.Args)
		return task.Value(), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	funcs := map[string]backendtest.Func{}
	for _, a := range registry.Describe() {
		funcs[a.Name] = func(args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
			return registry.Execute(t.Context(), backend.Task{Action: a.Name, Args: args, Attempt: attempt})
		}
	}
	return funcs
}

// run runs instances whose tasks end in an order chosen by seed, and compares results and numbers of node runs with the
// workload's.
func run(t *testing.T, w scenarios.Workload, instances int, seed uint64) {
	t.Helper()
	program, err := plan.Compile(w.Graph)
	if err != nil {
		t.Fatal(err)
	}
	var subs []backend.Submission
	for i := range instances {
		id := uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%s %d", w.Name, i))
		subs = append(subs, backend.Submission{ID: id, Program: program, Input: w.Input})
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	store := memory.New(memory.Options{})
	defer store.Close()
	seen, err := backendtest.Drive(ctx, store, subs, backendtest.DriveConfig{Actions: calls(t, w), Max: 64, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subs {
		inst, runs := seen.Instances[s.ID], 0
		for _, n := range seen.Runs(s.ID) {
			runs += n
		}
		if inst.Status != backend.Completed || string(inst.Result) != string(w.Expected) || runs != w.Nodes {
			t.Errorf("%s, size %d: %s with %.200s and %+v after %d node runs; want %.200s after %d",
				w.Name, w.Size, inst.Status, inst.Result, inst.Failure, runs, w.Expected, w.Nodes)
		}
	}
}

// calls has no service times.
func calls(t *testing.T, w scenarios.Workload) map[string]backendtest.Func {
	t.Helper()
	funcs := map[string]backendtest.Func{}
	for _, a := range w.Calls().Instant().Describe() {
		funcs[a.Name] = func(args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
			return w.Calls().Instant().Execute(t.Context(), backend.Task{Action: a.Name, Args: args, Attempt: attempt})
		}
	}
	return funcs
}

func runAny(t *testing.T, w scenarios.Workload, seed uint64) {
	t.Helper()
	program, err := plan.Compile(w.Graph)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	store := memory.New(memory.Options{})
	defer store.Close()
	id := uuid.NewSHA1(uuid.Nil, []byte(w.Name))
	seen, err := backendtest.Drive(ctx, store, []backend.Submission{{ID: id, Program: program, Input: w.Input}},
		backendtest.DriveConfig{Actions: calls(t, w), Max: 16, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	inst, runs := seen.Instances[id], 0
	for _, n := range seen.Runs(id) {
		runs += n
	}
	end := reference.End{Status: reference.Status(inst.Status), Result: inst.Result}
	if f := inst.Failure; f != nil {
		end.Error = &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
	}
	if d := w.Differs(end); d != "" || runs < w.Nodes-w.Optional || runs > w.Nodes {
		t.Errorf("%s of %s: %s; %d node runs, and there should be %d to %d", w.Name, w.Input, d, runs, w.Nodes-w.Optional, w.Nodes)
	}
}

// Every scenario runs in small sizes, even and odd, on the engine's own core, with a different order of ends each time.
func TestScenariosRun(t *testing.T) {
	sizes := map[string][]int{
		"fanout":   {2, 3, 10, 101},
		"loop":     {1, 2, 33},
		"spread":   {0, 1, 2, 3, 25},
		"chain":    {1, 2, 60},
		"diamond":  {1, 2, 3, 9},
		"pipeline": {0, 1, 3, 4, 8, 37},
		"trace":    {8, 9, 61},
	}
	for _, s := range scenarios.All() {
		if len(sizes[s.Name]) == 0 {
			t.Errorf("%s is not run", s.Name)
		}
		for _, size := range sizes[s.Name] {
			t.Run(fmt.Sprintf("%s/%d", s.Name, size), func(t *testing.T) {
				w, err := s.Build(size, options(s, "rounds", "3"))
				if err != nil {
					t.Fatal(err)
				}
				run(t, w, 3, uint64(size+1))
			})
		}
	}
}

// Chunks do not divide the items, are more than the items, and are one.
func TestPipelineRuns(t *testing.T) {
	s, err := scenarios.Find("pipeline")
	if err != nil {
		t.Fatal(err)
	}
	for _, iters := range []int{1, 3, 7, 20} {
		w, err := s.Build(16, scenarios.Options{Set: map[string]string{"iterations": fmt.Sprint(iters)}})
		if err != nil {
			t.Fatal(err)
		}
		run(t, w, 1, uint64(iters))
	}
}

// The recorded traces are in PULLEY_WFINSTANCES or, if unset, next to the project; others are generated of every shape.
func TestTracesRun(t *testing.T) {
	s, err := scenarios.Find("trace")
	if err != nil {
		t.Fatal(err)
	}
	dir := cmp.Or(os.Getenv("PULLEY_WFINSTANCES"), filepath.Join("..", "..", "shared", "wfinstances"))
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var traces []*wfformat.Trace
	for _, f := range files {
		trace, err := wfformat.ReadFile(f, wfformat.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	for _, shape := range wfformat.Shapes() {
		trace, err := wfformat.Generate(shape, 77, 5)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	for _, trace := range traces {
		t.Run(trace.Label(), func(t *testing.T) {
			w, err := s.Build(0, scenarios.Options{Trace: trace, TimeScale: 0.001})
			if err != nil {
				t.Fatal(err)
			}
			run(t, w, 2, 11)
		})
	}
}

func TestBuildIsPure(t *testing.T) {
	for _, s := range scenarios.All() {
		var built [2]scenarios.Workload
		var err error
		for i := range built {
			if built[i], err = s.Build(s.DefaultSizes[0], scenarios.Options{Seed: 9}); err != nil {
				t.Fatal(err)
			}
		}
		text := built[0].Graph.Text()
		if text != built[1].Graph.Text() || text == "" {
			t.Errorf("%s: the graphs differ", s.Name)
		}
		built[0].Graph, built[1].Graph, built[0].Behaviour, built[1].Behaviour = nil, nil, nil, nil
		if d := diff.Diff(built[0], built[1]); d != "" {
			t.Errorf("%s: %s", s.Name, d)
		}
	}
}

func options(s scenarios.Scenario, name, value string) scenarios.Options {
	if !s.HasParameter(name) {
		return scenarios.Options{}
	}
	return scenarios.Options{Set: map[string]string{name: value}}
}
