package bench

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/reports/record"
)

// latencies are the histograms of a run, or of several.
type latencies struct {
	hop      *measure.Hist
	instance *measure.Hist
}

func newLatencies() *latencies {
	return &latencies{hop: measure.NewHist(), instance: measure.NewHist()}
}

func (l *latencies) merge(o *latencies) {
	l.hop.Merge(o.hop)
	l.instance.Merge(o.instance)
}

func (l *latencies) warnings() []string {
	return append(l.hop.Warnings(), l.instance.Warnings()...)
}

// watch sees what an engine does in one run. The engine calls it from several goroutines; one mutex
// serves, since what is done under it is short.
type watch struct {
	mu        sync.Mutex
	began     time.Time
	ended     time.Time
	submitted map[uuid.UUID]time.Time // when Submit was called
	offered   map[uuid.UUID]time.Time // latest completion of each instance
	causes    map[backend.Lease]time.Time
	applied   map[attempt]int
	runs      map[backend.Key]bool // of actions, with a completion that was applied
	stale     int
	spans     []int64
	problems  []string
	lat       *latencies
}

// attempt is one at a node run; each is applied once.
type attempt struct {
	key    backend.Key
	number int
}

// problemsMost bounds what a run repeats of an engine's complaints.
const problemsMost = 5

func newWatch() *watch {
	return &watch{
		submitted: map[uuid.UUID]time.Time{}, offered: map[uuid.UUID]time.Time{},
		causes: map[backend.Lease]time.Time{}, applied: map[attempt]int{}, runs: map[backend.Key]bool{}, lat: newLatencies(),
	}
}

func (w *watch) begin()  { w.began = time.Now() }
func (w *watch) finish() { w.ended = time.Now() }

func (w *watch) observer() engine.Observer {
	return engine.Observer{
		Leased:   w.leased,
		Ended:    w.end,
		Started:  w.started,
		Offered:  w.offer,
		Answered: w.answered,
		Problem: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.problems) < problemsMost {
				w.problems = append(w.problems, err.Error())
			}
		},
	}
}

// leased notes which completion a task came after; an instance's first tasks came after none. A sleep
// that is over is such a completion itself.
func (w *watch) leased(t backend.Task, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.Action == "" {
		w.offered[t.Lease.Key.Instance] = at
		return
	}
	if at, ok := w.offered[t.Lease.Key.Instance]; ok {
		w.causes[t.Lease] = at
	}
}

func (w *watch) started(t backend.Task, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cause, ok := w.causes[t.Lease]; ok {
		delete(w.causes, t.Lease)
		w.lat.hop.Record(at.Sub(cause))
	}
}

func (w *watch) offer(c backend.Completion, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offered[c.Lease.Key.Instance] = at
}

func (w *watch) answered(c backend.Completion, o backend.Outcome, err error, _ time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
	case o.Answer == backend.Applied:
		w.applied[attempt{c.Lease.Key, c.Attempt}]++
		if c.Program.Graph().Nodes[c.Lease.Key.Run.Node].Kind == graph.Action {
			w.runs[c.Lease.Key] = true
		}
	case o.Answer == backend.Stale:
		w.stale++
	}
}

// submit notes when an instance is about to be submitted.
func (w *watch) submit(id uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.submitted[id] = time.Now()
}

func (w *watch) end(in backend.Instance, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, ok := w.submitted[in.ID]
	if !ok {
		return
	}
	delete(w.submitted, in.ID)
	delete(w.offered, in.ID)
	w.spans = append(w.spans, int64(at.Sub(from)))
	w.lat.instance.Record(at.Sub(from))
}

// fill puts what was seen into the sample, and judges whether it is what was planned.
func (w *watch) fill(s *record.Sample, nodes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Valid = true
	s.ElapsedNS = int64(w.ended.Sub(w.began))
	s.InstanceNS = w.spans
	if s.ElapsedNS > 0 {
		s.NodesPerS = float64(s.NodeRuns()) / (float64(s.ElapsedNS) / float64(time.Second))
	}
	s.HopNS = w.lat.hop.Percentiles()
	invalid := func(format string, args ...any) {
		s.Valid = false
		s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
	}
	if len(w.runs) != s.Instances*nodes {
		invalid("%d node runs were applied, not %d × %d", len(w.runs), s.Instances, nodes)
	}
	for a, n := range w.applied {
		if n > 1 {
			invalid("instance %s, node run %d %s, attempt %d: applied %d times (I3)", a.key.Instance, a.key.Run.Node, a.key.Run.Path, a.number, n)
			break
		}
	}
	if w.stale > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d completions were stale: leases ran out under the load", w.stale))
	}
	s.Warnings = append(s.Warnings, w.problems...)
}
