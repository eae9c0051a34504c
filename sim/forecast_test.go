package sim_test

import (
	"strings"
	"testing"
	"time"

	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/sim"
)

func keyed(t testing.TB, law string, seed uint64) sim.Service {
	t.Helper()
	l, err := dist.Parse(law, dist.Durations, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sim.Keyed(seed, func(string) sim.Distribution { return l.Times() })
}

func within(t *testing.T, f *sim.Forecast) {
	t.Helper()
	right(t, f.Result)
	b := f.Bounds
	if f.Unbounded != "" || b.Lower <= 0 || b.Upper < b.Lower || b.Work != f.Work {
		t.Fatalf("bounds %+v for %v of work: %s", b, f.Work, f.Unbounded)
	}
	if f.Makespan < b.Lower || f.Makespan > b.Upper {
		t.Errorf("the makespan is %v, not from %v to %v", f.Makespan, b.Lower, b.Upper)
	}
}

// TestListSchedules checks the bounds of traces on several numbers of workers: with recorded times, with drawn times and with
// several instances that arrive one by one.
func TestListSchedules(t *testing.T) {
	for i, trace := range traces(t) {
		t.Run(trace.Label(), func(t *testing.T) {
			jobs := sim.TraceJobs(trace, 1)
			several := inTurn(i, 1, 3, 8, 32, len(jobs))
			if len(jobs) > 400 {
				several = inTurn(i, 2, 128) // enough for a large one
			}
			for _, workers := range several {
				cfg := sim.Config{Seed: 3, Jobs: jobs, Workers: workers}
				f, err := sim.Predict(cfg)
				if err != nil {
					t.Fatal(err)
				}
				within(t, f)
				want, err := sim.Bound(jobs, 1, workers)
				if err != nil || f.Bounds != want {
					t.Errorf("%d workers: bounds %+v, want %+v, %v", workers, f.Bounds, want, err)
				}
				cfg.Service = keyed(t, "pareto:10ms..100s,0.9", 3)
				cfg.Instances, cfg.Between = 2, dist.Exponential(time.Second)
				if f, err = sim.Predict(cfg); err != nil {
					t.Fatal(err)
				}
				within(t, f)
			}
		})
	}
}

// TestBoundsAreTight checks that a lazy schedule exceeds the upper bound: one worker's schedule is not greedy for many.
func TestBoundsAreTight(t *testing.T) {
	jobs := layered(400, 20, time.Second, 1)
	one, err := sim.Predict(sim.Config{Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	many, err := sim.Predict(sim.Config{Jobs: jobs, Workers: 20})
	if err != nil {
		t.Fatal(err)
	}
	within(t, one)
	within(t, many)
	if one.Makespan <= many.Bounds.Upper || many.Makespan >= one.Bounds.Lower {
		t.Errorf("one worker: %v within %+v; twenty: %v within %+v", one.Makespan, one.Bounds, many.Makespan, many.Bounds)
	}
	if one.SpeedUp != 1 || many.SpeedUp < 5 || many.SpeedUp > 20 {
		t.Errorf("speed-ups of %v and %v", one.SpeedUp, many.SpeedUp)
	}
}

// TestPredictedPrograms checks the bounds of workloads whose shape depends on values: loops, spreads, sleeps, retries.
func TestPredictedPrograms(t *testing.T) {
	sleeps := compiled(t, `
fn main(input: [], output: [x]):
    parallel:
        @echo(value=1)
        @flaky(times=2) [retry: 3, backoff: 3s]
    sleep 2
    x = @echo(value=2)
`)
	for _, w := range []scenarios.Workload{
		workload(t, "loop", 5, scenarios.Options{}), workload(t, "fanout", 40, scenarios.Options{}), workload(t, "pipeline", 12, scenarios.Options{}),
		workload(t, "chain", 20, scenarios.Options{}), workload(t, "diamond", 5, scenarios.Options{}), sleeps,
	} {
		for _, workers := range []int{1, 3, 50} {
			f, err := sim.Predict(sim.Config{
				Seed: 9, Workload: w, Act: act(t), Workers: workers, Instances: 3, Between: dist.Constant(100 * time.Millisecond),
				Service: keyed(t, "exp:1s", 1),
			})
			if err != nil {
				t.Fatal(err)
			}
			within(t, f)
		}
	}
}

// TestUnbounded checks the reasons why there are no bounds, or no upper one.
func TestUnbounded(t *testing.T) {
	limited := compiled(t, `
fn main(input: [], output: [x]):
    x = spread [1, 2, 3, 4]:e limit 2 -> @double(value=e)
`)
	fails := compiled(t, `
fn main(input: [], output: [y]):
    y = 1
    parallel:
        @fail(type="T", message="m")
        @echo(value=1)
`)
	fan := workload(t, "fanout", 9, scenarios.Options{})
	service := keyed(t, "exp:1s", 1)
	for want, cfg := range map[string]sim.Config{
		"limited number":        {Workload: limited, Service: service, Workers: 2},
		"always enough workers": {Workload: fails, Service: keyed(t, "exp:1s", 4), Workers: 1},
		"calls take time":       {Workload: fan, Service: service, Workers: 2, Latency: dist.Constant(time.Millisecond)},
		"beside another one":    {Workload: fan, Service: service, Workers: 2, Engines: 2},
		"had":                   {Workload: fan, Service: sim.Each(dist.Exponential(time.Second)), Workers: 2},
	} {
		cfg.Act = act(t)
		f, err := sim.Predict(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(f.Unbounded, want) || f.Bounds.Upper != 0 || f.Bounds.Lower <= 0 || f.Makespan < f.Bounds.Lower {
			t.Errorf("bounds %+v: %q; want %q", f.Bounds, f.Unbounded, want)
		}
	}
	if _, err := sim.Predict(sim.Config{Jobs: []sim.Job{{}}, Faults: []sim.Fault{{Kind: sim.Crash}}}); err == nil {
		t.Error("a forecast with faults was made")
	}
}

// TestKeyedTimes checks that the same work takes the same time in any order.
func TestKeyedTimes(t *testing.T) {
	w := workload(t, "pipeline", 30, scenarios.Options{})
	times := map[int]map[string]time.Duration{}
	for _, workers := range []int{1, 7} {
		r, err := sim.Run(sim.Config{Seed: 2, Workload: w, Act: act(t), Workers: workers, Instances: 2, Service: keyed(t, "exp:1s", 8)})
		if err != nil {
			t.Fatal(err)
		}
		times[workers] = map[string]time.Duration{}
		different := map[time.Duration]bool{}
		for _, a := range r.Schedule {
			times[workers][string(rune(a.Instance))+a.Node+string(a.Path)] = a.End - a.Start
			different[a.End-a.Start] = true
		}
		if len(different) != len(r.Schedule) {
			t.Errorf("%d different times of %d", len(different), len(r.Schedule))
		}
	}
	for run, d := range times[1] {
		if times[7][run] != d {
			t.Errorf("%q takes %v with one worker, %v with seven", run, d, times[7][run])
		}
	}
}
