package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// act runs the actions that pulley comes with, and that of traces, without any waiting.
func act(t testing.TB) sim.Act {
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
	return func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
		return registry.Execute(context.Background(), backend.Task{Action: action, Args: args, Attempt: attempt})
	}
}

func workload(t testing.TB, name string, size int, opts scenarios.Options) scenarios.Workload {
	t.Helper()
	s, err := scenarios.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(size, opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// twice simulates a world two times, demands the same trace byte for byte (I13), and gives the result.
func twice(t testing.TB, cfg sim.Config) *sim.Result {
	t.Helper()
	var traces [2]strings.Builder
	var results [2]*sim.Result
	for i := range traces {
		cfg.Trace = &traces[i]
		var err error
		if results[i], err = sim.Run(cfg); err != nil {
			t.Fatal(err)
		}
	}
	if traces[0].String() != traces[1].String() || results[0].Hash != results[1].Hash {
		t.Errorf("seed %d: two runs differ (I13): %s", cfg.Seed, firstDifference(traces[0].String(), traces[1].String()))
	}
	if traces[0].Len() == 0 || results[0].Events == 0 {
		t.Errorf("seed %d: nothing happened", cfg.Seed)
	}
	right(t, results[0])
	return results[0]
}

func firstDifference(a, b string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return fmt.Sprintf("line %d: %q and %q", i+1, la[i], lb[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(la), len(lb))
}

// right demands that nothing went wrong, by the world's own account and by the oracles, if there is a
// history for them. What every workload gives evidence of must be judged, not only not be violated.
func right(t testing.TB, r *sim.Result) {
	t.Helper()
	for _, v := range r.Violations {
		t.Errorf("seed %d: %s", r.Seed, v)
	}
	if r.History == nil {
		return
	}
	report, err := r.Judge()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report {
		always := slices.Contains([]string{"I1", "I3", "I8", "I9", "I10"}, v.Invariant)
		if v.Result == oracle.Violated || always && v.Result != oracle.Holds {
			t.Errorf("seed %d: %s", r.Seed, v)
		}
	}
}

// TestReference holds programs against the reference interpreter, by arguments and by end; and wants it
// to see that an action was told something else than what the program says.
func TestReference(t *testing.T) {
	for _, w := range []scenarios.Workload{
		workload(t, "pipeline", 8, scenarios.Options{}), workload(t, "spread", 7, scenarios.Options{Set: map[string]string{"rounds": "2"}}), workload(t, "loop", 5, scenarios.Options{}),
		compiled(t, `
fn main(input: [], output: [n]):
    n = @fail(type="Broken", message="as planned")
    return n
`),
	} {
		r := twice(t, sim.Config{Workload: w, Instances: 2, Workers: 2, Act: act(t), Record: true, Service: sim.Each(dist.Exponential(time.Second))})
		report, err := r.Judge("I4", "I7")
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range report {
			if v.Result != oracle.Holds {
				t.Errorf("%s: %s", w.Name, v)
			}
		}
		for i, e := range r.History {
			if e.Kind == oracle.Started && w.Name == "loop" {
				r.History[i].Args = json.RawMessage(`{"corrupt":1}`)
			}
		}
		if report, err = r.Judge("I4"); err != nil || w.Name == "loop" && report.Result() != oracle.Violated {
			t.Errorf("%s: corrupt arguments are judged %v, %v", w.Name, report, err)
		}
	}
}

// TestOraclesHaveEvidence wants a workload with barriers to be judged on counters and on order too.
func TestOraclesHaveEvidence(t *testing.T) {
	r := twice(t, sim.Config{Workload: workload(t, "trace", 40, scenarios.Options{}), Workers: 3, Act: act(t), Record: true})
	report, err := r.Judge("I2", "I5")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report {
		if v.Result != oracle.Holds || v.Judged == 0 {
			t.Errorf("%s", v)
		}
	}
	r.History = nil
	if _, err := r.Judge(); err == nil {
		t.Error("a run without a history was judged")
	}
}

// TestScenarios simulates every scenario, on one engine or on several, with latencies that let them
// race for work, and counts that every node run was applied exactly once.
func TestScenarios(t *testing.T) {
	sizes := map[string]int{"fanout": 33, "loop": 9, "spread": 17, "chain": 20, "diamond": 5, "pipeline": 9, "trace": 40}
	for i, s := range scenarios.All() {
		if sizes[s.Name] == 0 {
			t.Errorf("%s is not simulated", s.Name)
			continue
		}
		for _, engines := range inTurn(i, 1, 3) {
			t.Run(fmt.Sprintf("%s/%d", s.Name, engines), func(t *testing.T) {
				w := workload(t, s.Name, sizes[s.Name], options(s.Name))
				hashes := map[string]uint64{}
				for seed := range depth.Of[uint64](2, 8) {
					r := twice(t, sim.Config{
						Seed: seed, Workload: w, Instances: 5, Between: dist.Exponential(time.Second),
						Engines: engines, Workers: 3, Shards: 2, Act: act(t), Record: true, CheckEach: seed == 1,
						Service: sim.Each(dist.Exponential(100 * time.Millisecond)), Latency: dist.Uniform(time.Millisecond, 9*time.Millisecond),
						Dispatch: dispatch.Config{Prefetch: int(seed)},
					})
					if other, seen := hashes[r.Hash]; seen {
						t.Errorf("seeds %d and %d give the same trace", other, seed)
					}
					hashes[r.Hash] = seed
					account(t, w, r)
				}
			})
		}
	}
}

// options keep the hashes of a spread few.
func options(scenario string) scenarios.Options {
	o := scenarios.Options{Seed: 4}
	if scenario == "spread" {
		o.Set = map[string]string{"rounds": "2"}
	}
	return o
}

// account checks the figures of a run without retries against each other.
func account(t *testing.T, w scenarios.Workload, r *sim.Result) {
	t.Helper()
	applied := 0
	for _, a := range r.Schedule {
		if a.Fate == sim.Applied {
			applied++
		}
		if a.End < a.Start {
			t.Errorf("%+v ends before it starts", a)
		}
	}
	want := w.Nodes * len(r.Instances)
	if applied != want || r.Waiting.Count != want {
		t.Errorf("%d node runs were applied and %d waited; want %d of both", applied, r.Waiting.Count, want)
	}
	if r.Latency.Count != len(r.Instances) || r.Latency.Max > r.Makespan || r.Makespan <= 0 {
		t.Errorf("latencies %+v within a makespan of %v", r.Latency, r.Makespan)
	}
	if r.Utilisation < 0 || r.Utilisation > 1 {
		t.Errorf("the utilisation is %v", r.Utilisation)
	}
	overlap(t, r)
}

// overlap demands that no worker does two things at once.
func overlap(t *testing.T, r *sim.Result) {
	t.Helper()
	type place struct{ engine, worker int }
	until := map[place]time.Duration{}
	for _, a := range r.Schedule { // in the order of their ends
		p := place{a.Engine, a.Worker}
		if a.Start < until[p] {
			t.Errorf("%+v starts while the worker is busy until %v", a, until[p])
		}
		until[p] = a.End
	}
}
