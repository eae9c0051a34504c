package chaos

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/process"
	"pulley/engine/backend"
	"pulley/engine/oracle"
	"pulley/engine/reference"
	"pulley/internal/pause"
)

// load keeps instances in flight. Engines submit them in turn. A submission without acknowledgement is retried by another engine,
// under the same id.
type load struct {
	of            func(i int) int // workload of the i-th instance; nil: the same for all
	priorityOf    func(i int) int
	cancelOf      int  // one of so many is cancelled; zero: none
	canceled      bool // one was cancelled; until then every instance from the first on is to be
	cancels       []flight
	cancel        func(engine int, id uuid.UUID)               // requests it
	send          func(engine int, s process.Submission) error // fails if the engine's process has ended
	engines       int
	record        func(oracle.Event)
	resubmitAfter time.Duration // when a submission is retried

	mu      sync.Mutex
	pace    pace
	open    map[uuid.UUID]*flight
	all     []uuid.UUID
	ended   int
	done    []done // in a soak: ended and not removed, in the order of their ends
	soak    bool
	cleared map[uuid.UUID]bool
	longest time.Duration // from an instance's first submission to its end
	next    int           // engine
	closing bool
	change  chan struct{} // buffered, one element: something ended or is to be submitted again
	idle    chan struct{} // closed when nothing is open after closing
	orphans int           // ends found by readOpen
}

// flight is an instance that is not known to have ended.
type flight struct {
	process.Submission
	engine int  // the last one to submit it; -1: none
	stored bool // it was acknowledged
	begun  time.Time
	cancel bool
	asked  time.Time
}

type pace struct {
	most  int     // maximum open
	perS  float64 // evenly from since; zero: when another ends
	since time.Time
	begun int // since then
}

func (p *pace) due(open int, now time.Time) int {
	free := p.most - open
	if p.perS == 0 {
		return max(0, free)
	}
	return max(0, min(free, int(p.perS*now.Sub(p.since).Seconds())-p.begun))
}

func (p *pace) next(now time.Time) time.Duration {
	if p.perS == 0 {
		return lookupPause
	}
	at := p.since.Add(time.Duration(float64(p.begun+1) / p.perS * float64(time.Second)))
	return min(lookupPause, max(time.Millisecond, at.Sub(now)))
}

func (l *load) setPace(most int, perS float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pace = pace{most: most, perS: perS, since: time.Now()}
	l.changed()
}

func newLoad(c cases.Case, send func(int, process.Submission) error, record func(oracle.Event)) *load {
	return &load{
		priorityOf: c.PriorityOf, cancelOf: c.Cancel, cancel: func(int, uuid.UUID) {},
		pace: pace{most: c.InFlight, perS: c.RatePerS, since: time.Now()}, soak: c.Soak, cleared: map[uuid.UUID]bool{}, engines: c.Engines, send: send, record: record, resubmitAfter: resubmitAfter(c),
		open: map[uuid.UUID]*flight{}, change: make(chan struct{}, 1), idle: make(chan struct{}),
	}
}

func resubmitAfter(c cases.Case) time.Duration { return 3 * c.Call() }

func (l *load) setResubmitAfter(c cases.Case) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resubmitAfter = resubmitAfter(c)
}

func (l *load) changed() {
	select {
	case l.change <- struct{}{}:
	default:
	}
}

func (l *load) handleEvent(e oracle.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.open[idOf(e)]
	if f == nil {
		return
	}
	switch {
	case e.Kind == oracle.Submitted:
		stored := e.Answer == oracle.AnswerApplied || e.Answer == oracle.AnswerDuplicate
		if stored && !f.stored && f.cancel {
			l.cancels = append(l.cancels, *f)
			l.changed()
		}
		f.stored = f.stored || stored
	case e.Kind == oracle.LookedUp && (e.Status == oracle.Running || e.Status == ""):
	default:
		l.canceled = l.canceled || e.Status == reference.Canceled
		l.end(f)
	}
}

// end removes an instance. The lock must be held.
func (l *load) end(f *flight) {
	delete(l.open, f.ID)
	l.ended++
	if l.soak {
		l.done = append(l.done, done{f.ID, time.Now()})
	}
	l.longest = max(l.longest, time.Since(f.begun))
	l.changed()
	if l.closing && len(l.open) == 0 {
		close(l.idle)
	}
}

func (l *load) unsubmitted(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.open[id]; f != nil && !f.stored {
		f.engine = -1
		l.changed()
	}
}

// lost notes that an engine's process has ended: its unacknowledged instances may not be stored.
func (l *load) lost(engine int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.open {
		if f.engine == engine && !f.stored {
			f.engine = -1
		}
	}
	l.changed()
}

// cancelMoreOf is one in how many instances is cancelled when cancels are wanted soon.
const cancelMoreOf = 3

// cancelMore cancels more instances, if any are cancelled.
func (l *load) cancelMore() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelOf = min(l.cancelOf, cancelMoreOf)
}

// close stops new submissions. idle is closed when all instances have ended.
func (l *load) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return
	}
	l.closing = true
	if len(l.open) == 0 {
		close(l.idle)
	}
}

func (l *load) count() (ended, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended, len(l.open)
}

func (l *load) hasCanceled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.canceled
}

type done struct {
	id uuid.UUID
	at time.Time
}

// removeEnded returns the instances that had ended at a time, each once.
func (l *load) removeEnded(until time.Time) []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []uuid.UUID
	for _, d := range l.done {
		if d.at.After(until) {
			break
		}
		out = append(out, d.id)
	}
	l.done = l.done[len(out):]
	return out
}

// returnEnded puts instances back, so that a later pass removes them.
func (l *load) returnEnded(ids []uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var back []done
	for _, id := range ids {
		back = append(back, done{id: id})
	}
	l.done = append(back, l.done...)
}

func (l *load) removeInstances(ids []uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.cleared[id] = true
	}
}

func (l *load) remaining() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(id uuid.UUID) bool { return l.cleared[id] })
}

func (l *load) slowest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest
}

func (l *load) ids() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uuid.UUID(nil), l.all...)
}

func (l *load) workload(i int) int {
	if l.of == nil {
		return 0
	}
	return l.of(i)
}

func (l *load) workloadOf() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int, len(l.all))
	for i, id := range l.all {
		out[id.String()] = l.workload(i)
	}
	return out
}

const lookupPause = 250 * time.Millisecond

// run submits until ctx ends. readOpen runs in parallel, because it may wait for an absent server, and because under load there
// is always something to submit.
func (l *load) run(ctx context.Context, store backend.Backend) {
	var looks sync.WaitGroup
	defer looks.Wait()
	looks.Go(func() { l.readOpenLoop(ctx, store) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(l.fill())
		select {
		case <-l.change:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *load) readOpenLoop(ctx context.Context, store backend.Backend) {
	for range pause.Ticks(ctx, lookupPause) {
		l.readOpen(ctx, store)
	}
}

// fill submits what is missing and returns when more may be due.
func (l *load) fill() time.Duration {
	l.mu.Lock()
	more := 0
	if !l.closing {
		more = l.pace.due(len(l.open), time.Now())
	}
	l.pace.begun += more
	wait := l.pace.next(time.Now())
	for range more {
		id := uuid.New()
		canceled := l.cancelOf > 0 && (len(l.all)%l.cancelOf == l.cancelOf-1 || len(l.all) >= l.cancelOf && !l.canceled)
		l.open[id] = &flight{Submission: process.Submission{ID: id, Workload: l.workload(len(l.all)), Priority: l.priorityOf(len(l.all))}, engine: -1, begun: time.Now(), cancel: canceled}
		l.all = append(l.all, id)
	}
	var due []flight
	for _, f := range l.open {
		if !f.stored && (f.engine < 0 || time.Since(f.asked) > l.resubmitAfter) {
			l.next = (l.next + 1) % l.engines
			f.engine, f.asked = l.next, time.Now()
			due = append(due, *f)
		}
	}
	canceling := l.cancels
	l.cancels = nil
	l.mu.Unlock()
	for _, f := range due {
		l.submitTo(f)
	}
	for _, f := range canceling {
		l.cancel((f.engine+1)%l.engines, f.ID) // another engine than the one that has its first tasks
	}
	return wait
}

// submitTo has an engine submit an instance. If that engine has exited, another one does.
func (l *load) submitTo(f flight) {
	for range l.engines {
		if l.send(f.engine, f.Submission) == nil {
			break
		}
		f.engine = (f.engine + 1) % l.engines
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine := l.open[f.ID]; mine != nil && !mine.stored && mine.engine >= 0 {
		mine.engine = f.engine
	}
}

// readOpen reads instances that have been open for a while: the process that would report their end may have died.
func (l *load) readOpen(ctx context.Context, store backend.Backend) {
	l.mu.Lock()
	var ids []uuid.UUID
	for id, f := range l.open {
		if time.Since(f.asked) > lookupPause && len(ids) < lookupBatch {
			ids = append(ids, id)
		}
	}
	patience := l.resubmitAfter
	l.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := store.Lookup(ctx, ids)
	if err != nil {
		return // the server may be down; it is read again later
	}
	for _, in := range found {
		if in.Status == backend.Running || in.Status == "" {
			continue
		}
		l.mu.Lock()
		f := l.open[in.ID]
		if f != nil {
			l.orphans++
			l.canceled = l.canceled || in.Status == backend.Canceled
			l.end(f)
		}
		l.mu.Unlock()
		if f != nil {
			l.record(process.InstanceEvent(oracle.LookedUp, in))
		}
	}
}

const lookupBatch = 500
