package sim_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/sim"
)

// TestCountedEqualsPlanned checks that traces have the same schedule, line by line, whether the core plans them over the
// in-memory store or they are counted in arrays.
func TestCountedEqualsPlanned(t *testing.T) {
	s, err := scenarios.Find("trace")
	if err != nil {
		t.Fatal(err)
	}
	const scale = 0.01
	for i, trace := range traces(t) {
		t.Run(trace.Label(), func(t *testing.T) {
			w, err := s.Build(0, scenarios.Options{Trace: trace, TimeScale: scale})
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range inTurn(i, 7, 64, 1) {
				planned := sim.Config{Seed: 5, Workload: w, Act: act(t), Service: sim.Recorded}
				counted := sim.Config{Seed: 5, Jobs: sim.TraceJobs(trace, scale)}
				var got [2]*sim.Result
				for i, cfg := range []sim.Config{planned, counted} {
					cfg.Workers, cfg.Instances, cfg.Between = workers, 2, dist.Exponential(10*time.Millisecond)
					if got[i], err = sim.Run(cfg); err != nil {
						t.Fatal(err)
					}
					right(t, got[i])
				}
				same(t, got[0], got[1])
			}
		})
	}
}

func same(t *testing.T, a, b *sim.Result) {
	t.Helper()
	if len(a.Schedule) != len(b.Schedule) || len(a.Schedule) == 0 {
		t.Fatalf("%d and %d attempts", len(a.Schedule), len(b.Schedule))
	}
	for i := range a.Schedule {
		if *a.Schedule[i] != *b.Schedule[i] {
			t.Fatalf("attempt %d: %+v and %+v", i, *a.Schedule[i], *b.Schedule[i])
		}
	}
	if a.Makespan != b.Makespan || a.Waiting != b.Waiting || a.Latency != b.Latency {
		t.Errorf("makespans %v and %v, waiting %v and %v", a.Makespan, b.Makespan, a.Waiting, b.Waiting)
	}
}

// layered makes jobs in layers: each has a parent in the layer before, and mostly a second one.
func layered(jobs, width int, mean time.Duration, seed uint64) []sim.Job {
	r := rand.New(rand.NewPCG(seed, 1))
	made := make([]sim.Job, jobs)
	for i := range made {
		made[i].Time = time.Duration(float64(mean) * r.ExpFloat64())
		if i < width {
			continue
		}
		first := i/width*width - width
		a, b := i-width, first+r.IntN(width)
		if made[i].Parents = []int{a}; a != b {
			made[i].Parents = []int{min(a, b), max(a, b)}
		}
	}
	return made
}

// TestJobsStandAlone checks that Jobs refuses what it cannot be combined with.
func TestJobsStandAlone(t *testing.T) {
	jobs := layered(20, 4, time.Second, 1)
	for want, cfg := range map[string]sim.Config{
		"Jobs stand alone":      {Jobs: jobs, Record: true},
		"in a cycle":            {Jobs: []sim.Job{{Parents: []int{1}}, {Parents: []int{0}}}},
		"Quiet writes no trace": {Jobs: jobs, Quiet: true, Trace: &strings.Builder{}},
		"or give Mix or Jobs":   {Act: act(t)},
	} {
		if _, err := sim.Run(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
}

// TestLargeGraphsStaySmall bounds the memory that a job allocates, including garbage: a million jobs must fit into 2 GiB with
// room to spare. A job takes about 2.5 KB, mostly garbage.
func TestLargeGraphsStaySmall(t *testing.T) {
	n := depth.Of(10_000, 100_000)
	jobs := layered(n, 1_000, time.Second, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := sim.Run(sim.Config{Jobs: jobs, Workers: 500, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	right(t, r)
	if got := (after.TotalAlloc - before.TotalAlloc) / uint64(n); got > 4_000 {
		t.Errorf("%d bytes were allocated for each job", got)
	} else {
		t.Logf("%d bytes were allocated for each job", got)
	}
}
