package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/bench/histogram"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/reports/record"
)

type latencies struct {
	hop      *histogram.Hist
	instance *histogram.Hist
}

func newLatencies() *latencies {
	return &latencies{hop: histogram.New(), instance: histogram.New()}
}

func (l *latencies) merge(o *latencies) {
	l.hop.Merge(o.hop)
	l.instance.Merge(o.instance)
}

func (l *latencies) warnings() []string {
	return append(l.hop.Warnings(), l.instance.Warnings()...)
}

// watch observes the engines of one run. They call it concurrently on the measured path, so it only writes into the ledger;
// sums and histograms are made afterwards.
type watch struct {
	*ledger
	finished        time.Time
	spans           []int64 // by instance, in the order of received results
	ends            int
	ended           chan backend.Instance // to the receiver, with capacity for each client
	stale           atomic.Int64
	foreignSessions atomic.Int64 // events of instances that nobody submitted

	shared  bool            // the engines also work, or worked, for other runs
	engines []*atomic.Int64 // node runs and sleeps applied, by engine

	mu       sync.Mutex
	problems []string
}

const problemsMax = 5

// Each client has one instance in flight.
func newWatch(lot *instanceBatch, instances, clients int) *watch {
	return &watch{ledger: newLedger(lot, instances), spans: make([]int64, instances), ended: make(chan backend.Instance, clients)}
}

func (w *watch) begin()  { w.began = time.Now() }
func (w *watch) finish() { w.finished = time.Now() }

func (w *watch) observer() engine.Observer {
	applied := new(atomic.Int64)
	w.engines = append(w.engines, applied)
	return engine.Observer{
		Leased:    w.leased,
		Ended:     w.end,
		Started:   w.started,
		Offered:   w.offer,
		Answered:  w.answered,
		Committed: func(n int, _ time.Time) { applied.Add(int64(n)) },
		Problem:   w.problem,
	}
}

func (w *watch) problem(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < problemsMax {
		w.problems = append(w.problems, err.Error())
	}
}

func (w *watch) notes() []string {
	var out []string
	if n := w.stale.Load(); n > 0 {
		out = append(out, fmt.Sprintf("%d completions were stale: leases ran out under the load", n))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(out, w.problems...)
}

// on finds and locks an instance's page; nil if there is none, which makes the run invalid.
func (w *watch) on(id uuid.UUID) *account {
	a := w.account(id)
	if a == nil && !(w.shared && w.foreign(id)) {
		w.foreignSessions.Add(1)
	}
	return a
}

func (w *watch) confirmed(id uuid.UUID, at time.Time) {
	if a := w.on(id); a != nil {
		a.stored = w.since(at)
		a.stages.Store(a.stored)
		a.mu.Unlock()
	}
}

// leased notes which completion a task followed; an instance's first tasks follow none. The end of a sleep is itself a
// completion.
func (w *watch) leased(t backend.Task, at time.Time) {
	a := w.on(t.Lease.Key.Instance)
	if a == nil {
		return
	}
	defer a.mu.Unlock()
	if t.Action == "" {
		a.offered = w.since(at)
		return
	}
	if run := w.word(a, t.Lease.Key.Run); run != nil {
		a.lease(run)
		a.stages.Lease(t.Lease.Key.Run, w.since(at))
	}
}

func (w *watch) started(t backend.Task, at time.Time) {
	a := w.on(t.Lease.Key.Instance)
	if a == nil {
		return
	}
	defer a.mu.Unlock()
	if run := w.word(a, t.Lease.Key.Run); run != nil {
		run.start(w.since(at))
		a.stages.Start(t.Lease.Key.Run, w.since(at))
	}
}

func (w *watch) offer(c backend.Completion, at time.Time) {
	if a := w.on(c.Lease.Key.Instance); a != nil {
		a.offered = max(a.offered, w.since(at))
		a.stages.Finish(c.Lease.Key.Run, w.since(at))
		a.mu.Unlock()
	}
}

func (w *watch) answered(c backend.Completion, o backend.Outcome, err error, at time.Time) {
	switch {
	case err != nil:
	case o.Answer == backend.Stale:
		w.stale.Add(1)
	case o.Answer == backend.Applied:
		a := w.on(c.Lease.Key.Instance)
		if a == nil {
			return
		}
		defer a.mu.Unlock()
		if run := w.word(a, c.Lease.Key.Run); run != nil {
			w.apply(a, run, c.Lease.Key.Run, c.Attempt)
			a.stages.Commit(c.Lease.Key.Run, w.since(at))
		} else {
			w.foreignSessions.Add(1)
		}
	}
}

// end sends an ended instance to the receiver, once. After a lost COMMIT an end may be reported twice.
func (w *watch) end(in backend.Instance, _ time.Time) {
	a := w.on(in.ID)
	if a == nil {
		return
	}
	defer a.mu.Unlock()
	if !a.ended {
		a.ended = true
		w.ended <- in // capacity for each client
	}
}

func (w *watch) open() (uuid.UUID, bool) {
	for i := range w.instances {
		a := &w.instances[i]
		a.mu.Lock()
		id, open := a.id, a.id != uuid.Nil && !a.ended
		a.mu.Unlock()
		if open {
			return id, true
		}
	}
	return uuid.Nil, false
}

func (w *watch) received(id uuid.UUID, at time.Time) (client int, waited time.Duration) {
	a := w.account(id) // exists: its end was received
	defer a.mu.Unlock()
	span := max(w.since(at)-a.submitted, 0)
	w.spans[w.ends] = span
	w.ends++
	return int(a.client), time.Duration(span)
}

func (w *watch) note(id uuid.UUID, at time.Time) {
	a := w.account(id)
	defer a.mu.Unlock()
	a.received = w.since(at)
}

func (w *watch) query(ctx context.Context, e *engine.Engine) {
	if id, ok := w.open(); ok {
		if in, err := e.Wait(ctx, id); err == nil {
			w.end(in, time.Now())
		}
	}
}

func (w *watch) applied() []int64 {
	var out []int64
	for _, n := range w.engines {
		out = append(out, n.Load())
	}
	return out
}

func (w *watch) latencies() *latencies {
	lat := newLatencies()
	w.hops(lat.hop.Record)
	for _, span := range w.spans[:w.ends] {
		lat.instance.Record(time.Duration(span))
	}
	return lat
}

// fill adds the observations to the sample and checks them against the plan. It is called when nothing runs any more.
func (w *watch) fill(s *record.Sample, lat *latencies) {
	s.Valid = true
	s.ElapsedNS = int64(w.finished.Sub(w.began))
	s.InstanceNS = slices.Clone(w.spans[:w.ends])
	s.NodeRunsTotal = w.total(s)
	if s.ElapsedNS > 0 {
		s.NodesPerS = float64(s.NodeRuns()) / (float64(s.ElapsedNS) / float64(time.Second))
	}
	s.HopNS = lat.hop.Percentiles()
	if doubts := w.doubts(); len(doubts) > 0 {
		s.Valid = false
		s.Warnings = append(s.Warnings, doubts...)
	}
	s.Warnings = append(s.Warnings, w.notes()...)
}

// total is 0 if all instances have the same number of node runs.
func (w *watch) total(s *record.Sample) int {
	total, alike := 0, true
	for i := range w.instances {
		a := &w.instances[i]
		a.mu.Lock()
		total += int(a.runs)
		a.mu.Unlock()
		least, most := w.batch.nodes(i)
		alike = alike && least == s.Nodes && most == s.Nodes
	}
	if alike {
		return 0
	}
	return total
}

// miscounted is empty if nothing is wrong.
func miscounted(a *account, least, most int) string {
	switch runs := int(a.runs); {
	case runs >= least && runs <= most:
		return ""
	case least == most:
		return fmt.Sprintf("instance %s: %d node runs were applied, not %d", a.id, runs, most)
	default:
		return fmt.Sprintf("instance %s: %d node runs were applied, not %d to %d", a.id, runs, least, most)
	}
}

// doubts describes, for each check, the first instance that failed it. An instance must make as many node runs as its workload,
// each attempt applied once.
func (w *watch) doubts() []string {
	var count, twice string
	for i := range w.instances {
		a := &w.instances[i]
		a.mu.Lock()
		if w.shared && !a.ended {
			a.mu.Unlock()
			continue // not sent, or still open
		}
		if least, most := w.batch.nodes(i); count == "" && !w.batch.expected[w.batch.of(i)].workload.Unchecked.Nodes {
			count = miscounted(a, least, most)
		}
		if twice == "" && a.odd != nil {
			twice = a.odd.twice
		}
		a.mu.Unlock()
	}
	var out []string
	for _, text := range []string{count, twice} {
		if text != "" {
			out = append(out, text)
		}
	}
	if n := w.foreignSessions.Load(); n > 0 {
		out = append(out, fmt.Sprintf("%d events of node runs that nobody asked for", n))
	}
	return out
}
