package sim_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/dist"
	"pulley/sim"
)

func mixOf(t *testing.T, name string, size int) *scenarios.Mix {
	t.Helper()
	s, err := scenarios.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Mix(size, scenarios.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMixes simulates scenarios with several workloads on engines that crash. It checks that every instance ends as its own
// workload says, and that the oracles find nothing.
func TestMixes(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
	}{{"shop", 3}, {"mixed", 6}, {"branches", 5}} {
		m := mixOf(t, c.name, c.size)
		r, err := sim.Run(sim.Config{
			Seed: 3, Mix: m, Instances: 25, Between: dist.Exponential(20 * time.Millisecond), Engines: 2, Workers: 3, Record: true,
			Service: sim.Each(dist.Exponential(5 * time.Millisecond)), Latency: dist.Uniform(0, time.Millisecond),
			Faults: []sim.Fault{{Kind: sim.Crash, Engine: 1, After: 40, For: 50 * time.Millisecond}},
		})
		if err != nil {
			t.Fatal(err)
		}
		report, err := r.Judge()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range report {
			if len(v.Violations) > 0 {
				t.Errorf("%s: %s: %s", c.name, v.Invariant, v.Violations[0].Message)
			}
			if slices.Contains([]string{"I4", "I7"}, v.Invariant) && v.Judged == 0 {
				t.Errorf("%s: %s judged nothing", c.name, v.Invariant)
			}
		}
		if r.ViolationsTotal > 0 {
			t.Errorf("%s: %s", c.name, r.Violations[0])
		}
		for i, inst := range r.Instances {
			if inst.Status == backend.Completed && string(inst.Result) != string(m.Of(i).Expected) {
				t.Errorf("%s: instance %d gives %s, not %s", c.name, i, inst.Result, m.Of(i).Expected)
			}
		}
	}
}

// TestMixesAreCompared checks that a wrong expected end of one workload is noticed.
func TestMixesAreCompared(t *testing.T) {
	m := mixOf(t, "branches", 5)
	m.Workloads[3].Expected = []byte("1")
	r, err := sim.Run(sim.Config{Mix: m, Instances: 8})
	if err != nil {
		t.Fatal(err)
	}
	if r.ViolationsTotal != 1 || !strings.Contains(r.Violations[0], "instance 3 has the result") {
		t.Errorf("%d violations: %q", r.ViolationsTotal, r.Violations)
	}
}

// TestArrivals checks that instances arrive as a process says: at its times, or when others end.
func TestArrivals(t *testing.T) {
	w := workload(t, "chain", 2, scenarios.Options{})
	parse := func(text string) *arrivals.Arrivals {
		a, err := arrivals.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &a
	}
	run := func(text string, instances int) *sim.Forecast {
		r, err := sim.Predict(sim.Config{
			Seed: 5, Workload: w, Instances: instances, Workers: 3, Arrivals: parse(text),
			Service: sim.Keyed(5, func(string) sim.Distribution { return dist.Exponential(3 * time.Millisecond) }),
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.ViolationsTotal > 0 {
			t.Errorf("%s: %s", text, r.Violations[0])
		}
		return r
	}
	steps := run("steps:100/s*50ms,1000/s", 12)
	want := []int{0, 10, 20, 30, 40, 45, 46, 47, 48, 49, 50, 51} // ms after the first, which arrives at 5 ms
	for i, inst := range steps.Instances {
		if got := inst.Arrived; got/time.Millisecond != time.Duration(want[i]) && got.Round(time.Millisecond) != time.Duration(want[i])*time.Millisecond {
			t.Errorf("instance %d arrives after %v, want %d ms", i, got, want[i])
		}
	}
	if steps.Unbounded != "" || steps.Bounds.CriticalPath == 0 {
		t.Errorf("no critical path: %s", steps.Unbounded)
	}
	closed := run("closed:4", 50)
	for i, inst := range closed.Instances {
		open := 0
		for _, other := range closed.Instances {
			if other.Arrived <= inst.Arrived && other.Ended > inst.Arrived {
				open++
			}
		}
		if open > 4 || i < 4 && inst.Arrived != 0 || i >= 4 && inst.Arrived == 0 {
			t.Errorf("instance %d arrives after %v, when %d are in flight", i, inst.Arrived, open)
		}
	}
	if closed.InSystem > 4 || closed.InSystem < 3 || closed.Unbounded == "" {
		t.Errorf("%v instances in the system in the mean; %q", closed.InSystem, closed.Unbounded)
	}
	few, err := arrivals.Parse("trace:f", func(string) ([]time.Duration, error) { return []time.Duration{0, 1, 2}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sim.Run(sim.Config{Workload: w, Instances: 4, Arrivals: &few}); err == nil || !strings.Contains(err.Error(), "brings no more instances") {
		t.Errorf("four of three arrived: %v", err)
	}
}
