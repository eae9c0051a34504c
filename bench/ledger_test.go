package bench

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/reports/record"
	"pulley/scenarios"
)

// Nodes: an assignment without runs, an action, a sleep.
func ledgerGraph() *graph.Graph {
	return &graph.Graph{Nodes: []*graph.Node{{Kind: graph.Assign}, {Kind: graph.Action}, {Kind: graph.Sleep}}}
}

type watching struct {
	*watch
	id  uuid.UUID
	now time.Time
}

func newWatching() *watching {
	alone := scenarios.Alone(scenarios.Workload{Graph: ledgerGraph()})
	w := &watching{watch: newWatch(&instanceBatch{mix: alone, expected: []expectation{{workload: &alone.Workloads[0]}}}, 1, 1)}
	w.begin()
	w.id = w.newID(0, func(uuid.UUID) bool { return true })
	w.submit(0, w.id, 0)
	w.now = w.began
	return w
}

func (w *watching) lease(node graph.NodeID, path graph.Path) backend.Lease {
	return backend.Lease{Key: backend.Key{Instance: w.id, Run: graph.Run{Node: node, Path: path}}, Token: 1}
}

// complete is a whole attempt, a microsecond long.
func (w *watching) complete(node graph.NodeID, path graph.Path, number int, answer backend.Answer) {
	action := "a"
	if node == 2 {
		action = ""
	}
	task := backend.Task{Lease: w.lease(node, path), Action: action, Attempt: number}
	w.leased(task, w.now)
	w.now = w.now.Add(time.Microsecond)
	w.started(task, w.now)
	done := backend.Completion{Lease: task.Lease, Attempt: number}
	w.offer(done, w.now)
	w.answered(done, backend.Outcome{}, errors.New("lost"), w.now) // counts for nothing
	w.answered(done, backend.Outcome{Answer: answer}, nil, w.now)
}

func (w *watching) sample(nodes int) *record.Sample {
	s := &record.Sample{Instances: 1, Nodes: nodes}
	w.batch.mix.Workloads[0].Nodes = nodes
	w.finish()
	w.fill(s, w.latencies())
	return s
}

// What a run must not do, in every form of path, must be found; what it may do must not.
func TestLedger(t *testing.T) {
	for _, path := range []graph.Path{"", "0", "77", "3.14"} {
		for name, c := range map[string]struct {
			do    func(w *watching)
			nodes int
			want  string // the first warning; empty: valid
		}{
			"once":           {func(*watching) {}, 1, ""},
			"a sleep":        {func(w *watching) { w.complete(2, path, 1, backend.Applied) }, 1, ""},
			"twice":          {func(w *watching) { w.complete(1, path, 1, backend.Applied) }, 1, "attempt 1: applied twice (I3)"},
			"a sleep twice":  {func(w *watching) { w.complete(2, path, 1, backend.Applied); w.complete(2, path, 1, backend.Applied) }, 1, "applied twice (I3)"},
			"retried":        {func(w *watching) { w.complete(1, path, 2, backend.Applied) }, 1, ""},
			"retry twice":    {func(w *watching) { w.complete(1, path, 2, backend.Applied); w.complete(1, path, 2, backend.Applied) }, 1, "attempt 2: applied twice (I3)"},
			"stale":          {func(w *watching) { w.complete(1, path, 1, backend.Stale) }, 1, ""},
			"one missing":    {func(*watching) {}, 2, "1 node runs were applied, not 2"},
			"one too many":   {func(w *watching) { w.complete(1, path+"1", 1, backend.Applied) }, 1, "2 node runs were applied, not 1"},
			"not a node run": {func(w *watching) { w.complete(0, path, 1, backend.Applied) }, 1, "events of node runs that nobody asked for"},
			"no such node":   {func(w *watching) { w.complete(9, path, 1, backend.Applied) }, 1, "events of node runs that nobody asked for"},
			"a stranger":     {func(w *watching) { w.id = uuid.New(); w.complete(1, path, 1, backend.Applied) }, 1, "events of node runs that nobody asked for"},
		} {
			t.Run(fmt.Sprintf("%s/path=%s", name, path), func(t *testing.T) {
				w := newWatching()
				w.complete(1, path, 1, backend.Applied)
				c.do(w)
				s := w.sample(c.nodes)
				told := strings.Join(s.Warnings, "\n")
				if s.Valid != (c.want == "") || !strings.Contains(told, c.want) {
					t.Errorf("valid %v, %q; want %q", s.Valid, told, c.want)
				}
			})
		}
	}
}

// Each attempt after a completion has one hop. A sleep's end is a completion.
func TestLedgerHops(t *testing.T) {
	w := newWatching()
	w.complete(1, "0", 1, backend.Applied) // the first task follows no completion
	w.complete(1, "1", 1, backend.Applied)
	w.now = w.now.Add(time.Hour)
	w.complete(2, "", 1, backend.Applied)
	w.complete(1, "1", 2, backend.Applied)
	w.complete(1, "2.3", 1, backend.Applied)
	lat := w.latencies()
	if lat.hop.Count() != 3 || lat.hop.Percentiles().Max > int64(2*time.Microsecond) {
		t.Errorf("%d hops, %+v; want 3 of a microsecond", lat.hop.Count(), lat.hop.Percentiles())
	}
}

// The client receives the end once, and is not asked for afterwards.
func TestLedgerTellsTheClient(t *testing.T) {
	w := newWatching()
	if id, open := w.open(); !open || id != w.id {
		t.Errorf("%s is open: %v", id, open)
	}
	w.end(backend.Instance{ID: w.id}, w.now)
	w.end(backend.Instance{ID: w.id}, w.now)
	if len(w.ended) != 1 {
		t.Errorf("told %d times", len(w.ended))
	}
	if id, open := w.open(); open {
		t.Errorf("%s is still open", id)
	}
	if client, waited := w.received(w.id, w.now.Add(time.Second)); client != 0 || waited < 900*time.Millisecond || len(w.sample(0).InstanceNS) != 1 {
		t.Errorf("client %d waited %v", client, waited)
	}
}

func BenchmarkWatch(b *testing.B) {
	w := newWatching()
	for i := 0; b.Loop(); i++ {
		w.complete(1, graph.Path("").Push(i%100_000), 1, backend.Stale)
	}
}
