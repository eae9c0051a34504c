package sim_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// faulty is a world of one or two engines, each of which is struck at a moment that the seed chooses.
func faulty(t testing.TB, seed uint64, w scenarios.Workload, kind sim.FaultKind) sim.Config {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	cfg := sim.Config{
		Seed: seed, Workload: w, Instances: 3, Engines: 1 + int(seed%2), Workers: 3, Act: act(t), Record: true, CheckEach: seed%4 == 0,
		Service: sim.Each(dist.Exponential(200 * time.Millisecond)), Latency: dist.Uniform(0, 20*time.Millisecond),
		Dispatch: dispatch.Config{Lease: time.Second, Poll: 200 * time.Millisecond, Sweep: time.Second, Prefetch: 2},
	}
	for engine := range cfg.Engines {
		cfg.Faults = append(cfg.Faults, sim.Fault{
			Kind: kind, Engine: engine, After: 1 + r.IntN(30), For: time.Duration(r.Int64N(int64(3 * time.Second))),
		})
	}
	return cfg
}

// TestFaults strikes engines at many different moments. Every instance must end all the same (I9), with
// its expected result, whatever was lost and done twice.
func TestFaults(t *testing.T) {
	seeds := depth.Of(3, 64)
	for _, kind := range []sim.FaultKind{sim.Crash, sim.Freeze} {
		t.Run(string(kind), func(t *testing.T) {
			w := workload(t, "trace", 40, scenarios.Options{Shape: wfformat.Layered, Seed: 3})
			faulted, fates := 0, map[sim.Fate]int{}
			for seed := range uint64(seeds) {
				cfg := faulty(t, seed, w, kind)
				r := twice(t, cfg)
				if r.Faults != len(cfg.Faults) {
					t.Errorf("seed %d: %d of %d faults happened", seed, r.Faults, len(cfg.Faults))
				}
				faulted += r.Faults
				for _, a := range r.Schedule {
					fates[a.Fate]++
				}
				overlap(t, r)
			}
			t.Logf("%d faults; attempts by fate: %v", faulted, fates)
			if fates[sim.Lost] == 0 || fates[sim.Applied] != seeds*3*w.Nodes {
				t.Errorf("every node run is to be applied once, and some are to be lost on the way: %v", fates)
			}
		})
	}
}

// TestRetries simulates an action that fails twice before it returns.
func TestRetries(t *testing.T) {
	w := compiled(t, `
fn main(input: [], output: [n]):
    n = @flaky(times=2) [retry: 3, backoff: 1s]
    return n
`)
	w.Expected = json.RawMessage("3")
	r := twice(t, sim.Config{Workload: w, Act: act(t), Service: sim.Each(dist.Constant(time.Second)), Record: true})
	if len(r.Schedule) != 3 || r.Waiting.Count != 3 {
		t.Errorf("%d attempts, of which %d waited; want 3", len(r.Schedule), r.Waiting.Count)
	}
	if r.Makespan <= 3*time.Second {
		t.Errorf("the makespan is %v; the pauses between attempts are missing from it", r.Makespan)
	}
}

// TestTimeout gives an action less time than it takes: that is a failure, at that moment.
func TestTimeout(t *testing.T) {
	w := compiled(t, `
fn main(input: [], output: [n]):
    n = @echo(value=1)
    return n
`)
	definition, err := graph.Encode(w.Graph)
	if err != nil {
		t.Fatal(err)
	}
	limited := bytes.Replace(definition, []byte(`"action":"echo"`), []byte(`"action":"echo","timeout_ns":2000000000`), 1)
	if w.Graph, err = graph.Decode(limited); err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Workload: w, Act: act(t), Service: sim.Each(dist.Constant(time.Minute))}
	r := twice(t, cfg)
	if f := r.Instances[0].Failure; f == nil || f.Type != "Timeout" || f.Action != "echo" || r.Makespan != 2*time.Second {
		t.Errorf("%+v after %v; want a timeout after 2 s", f, r.Makespan)
	}
	cfg.Service = sim.Each(dist.Constant(2 * time.Second))
	if r = twice(t, cfg); string(r.Instances[0].Result) != "1" {
		t.Errorf("just in time it ended as %+v", r.Instances[0])
	}
}

// TestViolationsAreSeen plants an action that returns something wrong.
func TestViolationsAreSeen(t *testing.T) {
	w := workload(t, "fanout", 10, scenarios.Options{})
	right := act(t)
	wrong := func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
		if v, failure := right(action, args, attempt); string(v) == "[]" || failure != nil {
			return v, failure
		}
		return json.RawMessage("7"), nil
	}
	r, err := sim.Run(sim.Config{Workload: w, Instances: 2, Act: wrong})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Violations) != 2 || r.ViolationsTotal != 2 {
		t.Errorf("violations %q; want one for each instance", r.Violations)
	}
}

// TestRunThatDoesNotEnd wants an error that says what was left and how to see it again.
func TestRunThatDoesNotEnd(t *testing.T) {
	_, err := sim.Run(sim.Config{Seed: 77, Workload: workload(t, "chain", 50, scenarios.Options{}), Act: act(t), EventsMax: 60})
	if err == nil || !strings.Contains(err.Error(), "seed 77") || !strings.Contains(err.Error(), "1 of 1 instances have not ended (I9)") {
		t.Errorf("the error is %v", err)
	}
}

// TestRefusedConfigs wants every mistake to be named.
func TestRefusedConfigs(t *testing.T) {
	w := workload(t, "chain", 3, scenarios.Options{})
	negative := dist.Constant(-time.Second)
	bad := w
	bad.Input = json.RawMessage(`{"nobody": "takes this"}`)
	for want, cfg := range map[string]sim.Config{
		"Workload has no graph":        {Act: act(t)},
		"Instances is -1":              {Workload: w, Act: act(t), Instances: -1},
		"Engines is -2":                {Workload: w, Act: act(t), Engines: -2},
		"Workers is -3":                {Workload: w, Act: act(t), Workers: -3},
		`Faults[0] is a "flood"`:       {Workload: w, Act: act(t), Faults: []sim.Fault{{Kind: "flood"}}},
		"for engine 1 of 1":            {Workload: w, Act: act(t), Faults: []sim.Fault{{Kind: sim.Crash, Engine: 1}}},
		"After is -1":                  {Workload: w, Act: act(t), Faults: []sim.Fault{{Kind: sim.Crash, After: -1}}},
		"Cancels[0] is of instance 1":  {Workload: w, Act: act(t), Cancels: []sim.Cancel{{Instance: 1}}},
		"after -1s":                    {Workload: w, Act: act(t), Cancels: []sim.Cancel{{At: -time.Second}}},
		"Prefetch is -1":               {Workload: w, Act: act(t), Dispatch: dispatch.Config{Prefetch: -1}},
		"service time is -1s":          {Workload: w, Act: act(t), Service: sim.Each(negative)},
		"latency of a call is -1s":     {Workload: w, Act: act(t), Latency: negative},
		"between two submissions is -": {Workload: w, Act: act(t), Instances: 2, Between: negative},
		"lasts a hundred years":        {Workload: w, Act: act(t), Instances: 9, Between: dist.Constant(80 * 365 * 24 * time.Hour)},
		"has no recorded time":         {Workload: w, Act: act(t), Service: sim.Recorded},
		"instance 0 was refused":       {Workload: bad, Act: act(t)},
	} {
		if _, err := sim.Run(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "sim: ") {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
}
