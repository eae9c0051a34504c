package sim_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

func exported(t *testing.T, g *graph.Graph, r *sim.Result) *wfformat.Trace {
	t.Helper()
	nodes := map[string]graph.NodeID{}
	for _, n := range g.Nodes {
		nodes[n.Name] = n.ID
	}
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := wfformat.Measured{Name: "measured", Machine: wfformat.Machine{Name: "here", System: "linux", CPU: "a", Cores: 2, MemoryBytes: 1 << 30}}
	for _, a := range r.Schedule {
		m.Runs = append(m.Runs, wfformat.MeasuredRun{
			Run: graph.Run{Node: nodes[a.Node], Path: a.Path}, Started: epoch.Add(a.Start), Finish: epoch.Add(a.End),
		})
	}
	trace, err := wfformat.Export(g, m)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// pauses reports whether something other than actions takes time in a graph or determines when they begin.
func pauses(g *graph.Graph) bool {
	for _, n := range g.Nodes {
		if n.Kind == graph.Sleep || n.Limit > 0 || len(n.Retries) > 0 || n.Timeout > 0 {
			return true
		}
	}
	return false
}

// TestExportedTracesHaveTheDependenciesOfTheRun simulates programs on more workers than they can use, without latencies, so that
// every action begins when the last of its dependencies ends. It checks that the exported trace implies the same start of each
// task: a missing dependency would make it earlier, an extra one later.
func TestExportedTracesHaveTheDependenciesOfTheRun(t *testing.T) {
	var all []scenarios.Workload
	for _, s := range scenarios.Library() {
		for _, size := range []int{max(s.SizeMin, 1), s.DefaultSizes[0], 13} {
			if s.Name == "trace" {
				size += 10
			}
			m, err := s.Mix(min(size, s.SizeMax), scenarios.Options{Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, *m.Of(0))
		}
	}
	list, err := scenarios.Programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		w, err := p.Workload(ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	compared := 0
	for _, w := range all {
		w.Ends, w.Expected = nil, nil // not checked here
		for seed := range depth.Of[uint64](2, 20) {
			r, err := sim.Run(sim.Config{
				Seed: seed, Workload: w, Workers: 5000, Quiet: true,
				Service: sim.Keyed(seed, func(string) sim.Distribution { return dist.Exponential(time.Second) }),
			})
			if err != nil {
				t.Fatal(w.Name, err)
			}
			if len(r.Schedule) == 0 || len(r.Schedule) > 3000 {
				continue
			}
			trace := exported(t, w.Graph, r)
			if pauses(w.Graph) || r.Instances[0].Status != backend.Completed || strings.HasPrefix(w.Name, "diamond") {
				continue // the trace is valid, but more than its tasks determines the starts
			}
			compared++
			compareStarts(t, w, r, trace)
		}
	}
	if compared < 100 {
		t.Errorf("only %d runs were compared", compared)
	}
}

// compareStarts compares when each task could begin by the trace with when it began.
func compareStarts(t *testing.T, w scenarios.Workload, r *sim.Result, trace *wfformat.Trace) {
	t.Helper()
	if len(trace.Tasks) != len(r.Schedule) {
		t.Fatalf("%s: %d tasks of %d node runs", w.Name, len(trace.Tasks), len(r.Schedule))
	}
	ends := make([]float64, len(trace.Tasks))
	for _, i := range trace.Order() {
		task, start := trace.Tasks[i], 0.0
		for _, p := range task.Parents {
			start = max(start, ends[p])
		}
		ends[i] = start + task.RuntimeSeconds
		began, err := time.Parse(time.RFC3339Nano, task.ExecutedAt)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := time.Parse(time.RFC3339Nano, trace.ExecutedAt)
		if got := began.Sub(first).Seconds(); math.Abs(got-start) > 1e-6 {
			t.Errorf("%s: %s began after %.9f s, and by its parents %v could after %.9f s", w.Name, task.ID, got, names(trace, task.Parents), start)
			return
		}
	}
	if path := trace.CriticalPathSeconds(); math.Abs(path-r.Makespan.Seconds()) > 1e-6 || math.Abs(trace.MakespanSeconds-path) > 1e-6 {
		t.Errorf("%s: the critical path is %v s, and it took %v", w.Name, path, r.Makespan)
	}
}

func names(trace *wfformat.Trace, tasks []int) (out []string) {
	for _, i := range tasks {
		out = append(out, trace.Tasks[i].ID)
	}
	return out
}

// TestExportedTracesAreReadBack checks that a measured run can be written, read, and run as a workflow.
func TestExportedTracesAreReadBack(t *testing.T) {
	w := workload(t, "pipeline", 9, scenarios.Options{})
	r, err := sim.Run(sim.Config{Seed: 1, Workload: w, Workers: 3, Quiet: true, Service: sim.Keyed(1, func(string) sim.Distribution { return dist.Exponential(time.Second) })})
	if err != nil {
		t.Fatal(err)
	}
	trace := exported(t, w.Graph, r)
	var text bytes.Buffer
	if err := wfformat.Write(&text, trace); err != nil {
		t.Fatal(err)
	}
	again, err := wfformat.Parse("measured.json", text.Bytes(), wfformat.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	again.File = ""
	if d := cmp.Diff(trace, again); d != "" {
		t.Errorf("what was written reads back differently:\n%s", d)
	}
	if again.Tasks[0].Machines[0] != "here" || again.Machines[0].Cores != 2 || math.Abs(again.MakespanSeconds-r.Makespan.Seconds()) > 1e-6 {
		t.Errorf("%+v", again.Machines)
	}
	replayed := workload(t, "trace", 0, scenarios.Options{Trace: again, TimeScale: 1})
	f, err := sim.Predict(sim.Config{Workload: replayed, Workers: 100, Service: sim.Recorded})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(f.Makespan.Seconds()-again.CriticalPathSeconds()) > 1e-6 {
		t.Errorf("the replay takes %v on many workers, and its critical path is %v s", f.Makespan, again.CriticalPathSeconds())
	}
}
