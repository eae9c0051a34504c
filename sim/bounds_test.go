package sim_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

func compiled(t testing.TB, source string) scenarios.Workload {
	t.Helper()
	prog, err := ir.Parse("test.ir", []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(prog, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return scenarios.Workload{Name: "test", Graph: g, Source: source, Input: []byte("{}")}
}

// traces returns generated traces of every shape, and the recorded ones in PULLEY_WFINSTANCES or in the folder next to the
// project.
func traces(t *testing.T) []*wfformat.Trace {
	t.Helper()
	dir := cmp.Or(os.Getenv("PULLEY_WFINSTANCES"), filepath.Join("..", "..", "shared", "wfinstances"))
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PULLEY_WFINSTANCES") != "" && len(files) == 0 {
		t.Fatalf("PULLEY_WFINSTANCES is %s, where there is no *.json", dir)
	}
	var found []*wfformat.Trace
	for _, f := range files {
		trace, err := wfformat.ReadFile(f, wfformat.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, trace)
	}
	t.Logf("%d recorded traces", len(found))
	for _, shape := range wfformat.Shapes() {
		for _, tasks := range []int{9, 77} {
			trace, err := wfformat.Generate(shape, tasks, uint64(tasks))
			if err != nil {
				t.Fatal(err)
			}
			trace.Name = fmt.Sprintf("%s-%d", shape, tasks)
			found = append(found, trace)
		}
	}
	return found
}

// inTurn returns what to test with a trace: everything at night, otherwise one alternative that changes from trace to trace.
func inTurn(trace int, all ...int) []int {
	if depth.Night() {
		return all
	}
	return []int{all[trace%len(all)]}
}

// TestTracesKeepTheBounds checks that without latencies a makespan lies within its bounds, and equals the critical path if every
// task has a worker.
func TestTracesKeepTheBounds(t *testing.T) {
	s, err := scenarios.Find("trace")
	if err != nil {
		t.Fatal(err)
	}
	const scale = 0.01 // of the recorded times, so that polls do not outnumber tasks
	for i, trace := range traces(t) {
		t.Run(trace.Label(), func(t *testing.T) {
			w, err := s.Build(0, scenarios.Options{Trace: trace, TimeScale: scale})
			if err != nil {
				t.Fatal(err)
			}
			jobs := sim.TraceJobs(trace, scale)
			for _, workers := range inTurn(i, 1, 3, len(jobs)) {
				b, err := sim.Bound(jobs, 1, workers)
				if err != nil {
					t.Fatal(err)
				}
				r, err := sim.Run(sim.Config{Seed: uint64(workers), Workload: w, Workers: workers, Act: act(t), Service: sim.Recorded})
				if err != nil {
					t.Fatal(err)
				}
				right(t, r)
				if r.Makespan < b.Lower || r.Makespan > b.Upper {
					t.Errorf("%d workers: the makespan is %v, not from %v to %v", workers, r.Makespan, b.Lower, b.Upper)
				}
				if workers == 1 && r.Makespan != b.Work {
					t.Errorf("one worker took %v for %v of work", r.Makespan, b.Work)
				}
				if workers == len(jobs) && r.Makespan != b.CriticalPath {
					t.Errorf("with a worker for every task it took %v; the critical path is %v", r.Makespan, b.CriticalPath)
				}
			}
		})
	}
}

// TestLatencyNeverBeatsTheBound checks that the lower bound holds with latencies, engines and instances.
func TestLatencyNeverBeatsTheBound(t *testing.T) {
	trace, err := wfformat.Generate(wfformat.Montage, 60, 8)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Find("trace")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(0, scenarios.Options{Trace: trace, TimeScale: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for _, engines := range []int{1, 2, 4} {
		b, err := sim.Bound(sim.TraceJobs(trace, 0.01), 3, engines*2)
		if err != nil {
			t.Fatal(err)
		}
		r := twice(t, sim.Config{
			Workload: w, Instances: 3, Engines: engines, Workers: 2, Act: act(t),
			Service: sim.Recorded, Latency: dist.Exponential(2 * time.Millisecond),
		})
		if r.Makespan < b.Lower {
			t.Errorf("%d engines took %v, less than the %v that are possible", engines, r.Makespan, b.Lower)
		}
	}
}

// TestGraphJobs checks that a graph's bounds equal those of its trace, also with nodes that run inline.
func TestGraphJobs(t *testing.T) {
	for _, trace := range traces(t) {
		g, err := trace.Graph(wfformat.GraphOptions{})
		if err != nil {
			t.Fatal(err)
		}
		jobs, err := sim.GraphJobs(g, func(*graph.Node) time.Duration { return time.Second })
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) != len(trace.Tasks) {
			t.Fatalf("%s: %d jobs of %d tasks", trace.Label(), len(jobs), len(trace.Tasks))
		}
		b, err := sim.Bound(jobs, 2, 1)
		if want := 2 * time.Duration(len(jobs)) * time.Second; err != nil || b.Work != want || b.Lower != want {
			t.Errorf("%s: %+v, %v; want work of %v", trace.Label(), b, err, want)
		}
		if b.CriticalPath != time.Duration(trace.Depth())*time.Second {
			t.Errorf("%s: the critical path is %v of %d tasks", trace.Label(), b.CriticalPath, trace.Depth())
		}
	}
	straight := compiled(t, `
fn main(input: [], output: [y]):
    a = @echo(value=1)
    b = a + 1
    c = [b]
    y = @echo(value=c)
    return y
`)
	jobs, err := sim.GraphJobs(straight.Graph, func(*graph.Node) time.Duration { return time.Second })
	if err != nil || len(jobs) != 2 || len(jobs[0].Parents) != 0 || !slices.Equal(jobs[1].Parents, []int{0}) {
		t.Errorf("jobs %+v, %v; want the second after the first", jobs, err)
	}
	for _, name := range []string{"loop", "spread"} {
		w := workload(t, name, 3, scenarios.Options{})
		if _, err := sim.GraphJobs(w.Graph, func(*graph.Node) time.Duration { return 0 }); err == nil || !strings.Contains(err.Error(), "depends on values") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestBound checks small cases that were worked out by hand.
func TestBound(t *testing.T) {
	diamond := []sim.Job{{Time: 1}, {Time: 5, Parents: []int{0}}, {Time: 2, Parents: []int{0}}, {Time: 1, Parents: []int{1, 2}}}
	for _, c := range []struct {
		instances, workers int
		want               sim.Bounds
	}{
		{1, 1, sim.Bounds{CriticalPath: 7, Work: 9, Lower: 9, Upper: 9}},
		{1, 2, sim.Bounds{CriticalPath: 7, Work: 9, Lower: 7, Upper: 9}},
		{4, 2, sim.Bounds{CriticalPath: 7, Work: 36, Lower: 18, Upper: 22}},
	} {
		b, err := sim.Bound(diamond, c.instances, c.workers)
		if err != nil || b != c.want {
			t.Errorf("%d instances on %d workers: %+v, %v; want %+v", c.instances, c.workers, b, err, c.want)
		}
	}
	for want, jobs := range map[string][]sim.Job{
		"in a cycle":         {{Parents: []int{1}}, {Parents: []int{0}}},
		"has parent 2 of 1":  {{Parents: []int{2}}},
		"has parent -1 of 1": {{Parents: []int{-1}}},
		"takes -1ns":         {{Time: -1}},
		"hundred years":      {{Time: 1 << 61}, {Time: 1 << 61, Parents: []int{0}}},
	} {
		if _, err := sim.Bound(jobs, 1, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v; want %q", err, want)
		}
	}
	if _, err := sim.Bound(diamond, 0, 1); err == nil {
		t.Error("no instances have bounds")
	}
}
