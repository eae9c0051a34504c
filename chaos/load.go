package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/chaos/check"
	"pulley/engine/backend"
)

// load keeps instances in flight. Engines are asked in turn to submit them; a submission that was not
// acknowledged is made again by another engine, under the same id.
type load struct {
	inFlight  int
	workloads int
	send      func(engine int, s submission) error // fails where the engine's process has ended
	engines   int
	record    func(check.Event)
	patience  time.Duration // after which a submission is made again

	mu      sync.Mutex
	open    map[uuid.UUID]*flight
	all     []uuid.UUID // ever submitted
	ended   int
	next    int // engine
	closing bool
	change  chan struct{} // has one place: something ended, or has to be submitted again
	idle    chan struct{} // closed when nothing is open after closing
	orphans int           // ends that were found by looking
}

// flight is an instance that has not ended, as far as is known.
type flight struct {
	submission
	engine int  // which was asked last; -1: none
	stored bool // it was acknowledged
	asked  time.Time
}

func newLoad(c Case, send func(int, submission) error, record func(check.Event)) *load {
	return &load{
		inFlight: c.InFlight, workloads: len(c.Workloads), engines: c.Engines, send: send, record: record, patience: 3 * c.call(),
		open: map[uuid.UUID]*flight{}, change: make(chan struct{}, 1), idle: make(chan struct{}),
	}
}

func (l *load) changed() {
	select {
	case l.change <- struct{}{}:
	default:
	}
}

// heard takes in an event of an instance.
func (l *load) heard(e check.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.open[idOf(e)]
	if f == nil {
		return
	}
	if e.Kind == check.Submitted {
		f.stored = f.stored || e.Answer == check.AnswerApplied || e.Answer == check.AnswerDuplicate
		return
	}
	l.end(f)
}

// end takes an instance out. The lock must be held.
func (l *load) end(f *flight) {
	delete(l.open, f.ID)
	l.ended++
	l.changed()
	if l.closing && len(l.open) == 0 {
		close(l.idle)
	}
}

// unsubmitted says that a submission failed.
func (l *load) unsubmitted(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.open[id]; f != nil && !f.stored {
		f.engine = -1
		l.changed()
	}
}

// lost says that an engine's process has ended: what it was asked to submit may not be stored.
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

// close has nothing more submitted that is new. idle is closed when all has ended.
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

// count gives how many instances have ended, and how many are open.
func (l *load) count() (ended, open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended, len(l.open)
}

// ids gives every instance that anybody was asked to submit.
func (l *load) ids() []uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uuid.UUID(nil), l.all...)
}

// workloadOf gives each instance's workload.
func (l *load) workloadOf() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string]int, len(l.all))
	for i, id := range l.all {
		out[id.String()] = i % l.workloads
	}
	return out
}

// lookEvery is the time between looks at instances whose end nobody told of.
const lookEvery = 250 * time.Millisecond

// run submits until ctx ends. It is one goroutine.
func (l *load) run(ctx context.Context, store backend.Backend) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		l.fill()
		select {
		case <-l.change:
		case <-tick.C:
			l.look(ctx, store)
		case <-ctx.Done():
			return
		}
	}
}

// fill has submitted what is missing.
func (l *load) fill() {
	l.mu.Lock()
	for !l.closing && len(l.open) < l.inFlight {
		id := uuid.New()
		l.open[id] = &flight{submission: submission{ID: id, Workload: len(l.all) % l.workloads}, engine: -1}
		l.all = append(l.all, id)
	}
	var due []flight
	for _, f := range l.open {
		if !f.stored && (f.engine < 0 || time.Since(f.asked) > l.patience) {
			l.next = (l.next + 1) % l.engines
			f.engine, f.asked = l.next, time.Now()
			due = append(due, *f)
		}
	}
	l.mu.Unlock()
	for _, f := range due {
		l.ask(f)
	}
}

// ask has an engine submit an instance: the one that is meant to, or, where it has ended, another.
func (l *load) ask(f flight) {
	for range l.engines {
		if l.send(f.engine, f.submission) == nil {
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

// look reads instances that have been open for some time: whoever was to tell of their end may be dead.
func (l *load) look(ctx context.Context, store backend.Backend) {
	l.mu.Lock()
	var ids []uuid.UUID
	for id, f := range l.open {
		if time.Since(f.asked) > 2*lookEvery && len(ids) < lookBatch {
			ids = append(ids, id)
		}
	}
	l.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	found, err := store.Lookup(ctx, ids)
	if err != nil {
		return // the server may be down; it is asked again
	}
	for _, in := range found {
		if in.Status == backend.Running || in.Status == "" {
			continue
		}
		l.mu.Lock()
		f := l.open[in.ID]
		if f != nil {
			l.orphans++
			l.end(f)
		}
		l.mu.Unlock()
		if f != nil {
			l.record(instanceEvent(check.Looked, in))
		}
	}
}

// lookBatch is how many instances are read at once.
const lookBatch = 500
