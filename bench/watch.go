package bench

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
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

// watch sees what the engines do in one run. They call it from many goroutines at once, on the path that is
// measured: all that it does there is to write into the ledger; sums and histograms are made afterwards.
type watch struct {
	*ledger
	finished        time.Time
	spans           []int64 // of instances, in the order in which their results were received
	ends            int
	ended           chan backend.Instance // to whoever receives; has a place for each client
	stale           atomic.Int64
	foreignSessions atomic.Int64 // events of instances that nobody submitted

	shared  bool            // the engines also did, or do, what is not of this run
	engines []*atomic.Int64 // node runs and sleeps that each engine applied

	mu       sync.Mutex
	problems []string
}

// problemsMax bounds what a run repeats of an engine's complaints.
const problemsMax = 5

// newWatch is for so many instances, and clients that have one each in flight.
func newWatch(lot *instanceBatch, instances, clients int) *watch {
	return &watch{ledger: newLedger(lot, instances), spans: make([]int64, instances), ended: make(chan backend.Instance, clients)}
}

func (w *watch) begin()  { w.began = time.Now() }
func (w *watch) finish() { w.finished = time.Now() }

// observer is for one more engine.
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

// problem keeps the first complaints of an engine.
func (w *watch) problem(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.problems) < problemsMax {
		w.problems = append(w.problems, err.Error())
	}
}

// notes are what a reader of the run should know, and does not make it invalid.
func (w *watch) notes() []string {
	var out []string
	if n := w.stale.Load(); n > 0 {
		out = append(out, fmt.Sprintf("%d completions were stale: leases ran out under the load", n))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(out, w.problems...)
}

// on finds the page of an instance and locks it; nil where there is none, which makes the run invalid.
func (w *watch) on(id uuid.UUID) *account {
	a := w.account(id)
	if a == nil && !(w.shared && w.foreign(id)) {
		w.foreignSessions.Add(1)
	}
	return a
}

// confirmed notes that an instance was stored.
func (w *watch) confirmed(id uuid.UUID, at time.Time) {
	if a := w.on(id); a != nil {
		a.stored = w.since(at)
		a.stages.Store(a.stored)
		a.mu.Unlock()
	}
}

// leased notes which completion a task came after; an instance's first tasks came after none. A sleep
// that is over is such a completion itself.
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

// end hands the instance to whoever receives, once. An end can be heard of twice where a COMMIT was lost.
func (w *watch) end(in backend.Instance, _ time.Time) {
	a := w.on(in.ID)
	if a == nil {
		return
	}
	defer a.mu.Unlock()
	if !a.ended {
		a.ended = true
		w.ended <- in // it has a place for each client's
	}
}

// open gives an instance whose end was not heard of.
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

// received notes that the client of an instance has its result, and gives the client and how long that took.
func (w *watch) received(id uuid.UUID, at time.Time) (client int, waited time.Duration) {
	a := w.account(id) // which is there: its end came from it
	defer a.mu.Unlock()
	span := max(w.since(at)-a.submitted, 0)
	w.spans[w.ends] = span
	w.ends++
	return int(a.client), time.Duration(span)
}

// note notes that the result of an instance is there.
func (w *watch) note(id uuid.UUID, at time.Time) {
	a := w.account(id) // which is there: its end came from it
	defer a.mu.Unlock()
	a.received = w.since(at)
}

// query waits for the end of an instance that may have ended without being told of.
func (w *watch) query(ctx context.Context, e *engine.Engine) {
	if id, ok := w.open(); ok {
		if in, err := e.Wait(ctx, id); err == nil {
			w.end(in, time.Now())
		}
	}
}

// applied is how many node runs and sleeps each engine applied.
func (w *watch) applied() []int64 {
	var out []int64
	for _, n := range w.engines {
		out = append(out, n.Load())
	}
	return out
}

// latencies makes the histograms of what was seen.
func (w *watch) latencies() *latencies {
	lat := newLatencies()
	w.hops(lat.hop.Record)
	for _, span := range w.spans[:w.ends] {
		lat.instance.Record(time.Duration(span))
	}
	return lat
}

// fill puts what was seen into the sample, and judges whether it is what was planned. Nothing may be going
// on any more.
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

// total is how many node runs there were, where instances differ in that, and zero otherwise.
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

// miscounted says what is wrong with the number of an instance's node runs; empty: nothing is.
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

// doubts says, for each check, what the first instance to fail it did: every instance must have made as many
// node runs as its workload does, each attempt applied once.
func (w *watch) doubts() []string {
	var count, twice string
	for i := range w.instances {
		a := &w.instances[i]
		a.mu.Lock()
		if w.shared && !a.ended {
			a.mu.Unlock()
			continue // it was not sent, or is still under way
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
