package engine

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/signal"
)

// ErrUnknownInstance means that the store has no instance with an id.
var ErrUnknownInstance = signal.ErrUnknownInstance

// Pauses between lookups for Wait. An instance submitted here most likely ends here, which needs no lookup, so its first lookup
// comes waitPollMine after its submission, or at once if that has passed: it may have ended elsewhere by then.
const (
	waitPollFirst = 10 * time.Millisecond
	waitPollMine  = 500 * time.Millisecond
	waitPollMax   = 2 * time.Second
	lookupBatch   = 500
)

// Bounds of what is remembered about instances that no caller waits for.
const (
	mineMax        = 100_000
	recentMax      = 4096
	recentBytesMax = 32 << 20
)

// Wait returns an instance once it has ended: at once if this engine ends it, and otherwise by polling the store. Wait fails
// with ErrUnknownInstance, when ctx ends, and when the engine stops first.
func (e *Engine) Wait(ctx context.Context, id uuid.UUID) (backend.Instance, error) {
	if err := e.alive(); err != nil {
		return backend.Instance{}, err
	}
	w := e.waits.add(id, e.cfg.now())
	defer e.waits.remove(id, w)
	var cause error
	select {
	case got := <-w.ended:
		return got.instance, got.err
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-e.background.Done():
		cause = ErrNotRunning
	}
	select {
	case got := <-w.ended: // the end came at the last moment
		return got.instance, got.err
	default:
		return backend.Instance{}, fmt.Errorf("engine: waiting for instance %s: %w", id, cause)
	}
}

type waits struct {
	mu      sync.Mutex
	ids     map[uuid.UUID]*waiting
	lookups lookupQueue             // all of ids, and some abandoned ones
	mine    map[uuid.UUID]time.Time // when they were submitted
	recent  map[uuid.UUID]backend.Instance
	order   []uuid.UUID // recent's ids, oldest first
	bytes   int         // in recent's results
	change  chan struct{}
}

type waiting struct {
	id        uuid.UUID
	callers   []*waiter
	at        time.Time     // the next lookup
	pause     time.Duration // before the lookup after that
	abandoned bool          // no caller waits any more
}

// lookupQueue is a container/heap of waits by their next lookup.
type lookupQueue []*waiting

func (a lookupQueue) Len() int           { return len(a) }
func (a lookupQueue) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a lookupQueue) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *lookupQueue) Push(x any) { *a = append(*a, x.(*waiting)) }

// Pop implements heap.Interface.
func (a *lookupQueue) Pop() any {
	last := len(*a) - 1
	w := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return w
}

type waiter struct{ ended chan ended } // one place

type ended struct {
	instance backend.Instance
	err      error
}

func newWaits() *waits {
	return &waits{
		ids: map[uuid.UUID]*waiting{}, mine: map[uuid.UUID]time.Time{}, recent: map[uuid.UUID]backend.Instance{},
		change: make(chan struct{}, 1),
	}
}

// submitted remembers a new instance, unless it has ended.
func (w *waits) submitted(id uuid.UUID, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, over := w.recent[id]; !over && len(w.mine) < mineMax {
		w.mine[id] = now
	}
}

// add delivers a known end at once.
func (w *waits) add(id uuid.UUID, now time.Time) *waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &waiter{ended: make(chan ended, 1)}
	if inst, ok := w.recent[id]; ok {
		one.ended <- ended{instance: inst}
		return one
	}
	all, ok := w.ids[id]
	if !ok {
		all = &waiting{id: id, at: now, pause: waitPollFirst}
		if since, mine := w.mine[id]; mine {
			all.at, all.pause = now.Add(max(0, waitPollMine-now.Sub(since))), waitPollMine
		}
		w.ids[id] = all
		heap.Push(&w.lookups, all)
		if w.lookups[0] == all {
			select {
			case w.change <- struct{}{}:
			default: // a signal is pending already
			}
		}
	}
	all.callers = append(all.callers, one)
	return one
}

func (w *waits) remove(id uuid.UUID, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, ok := w.ids[id]
	if !ok {
		return
	}
	for i, other := range all.callers {
		if other == one {
			all.callers = append(all.callers[:i], all.callers[i+1:]...)
			break
		}
	}
	if len(all.callers) == 0 {
		all.abandoned = true
		delete(w.ids, id)
	}
}

// deliver passes the end of an instance to its callers, remembers it for later ones, and reports whether it was new.
func (w *waits) deliver(inst backend.Instance) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.mine, inst.ID)
	w.notifyWaiters(inst.ID, ended{instance: inst})
	if _, again := w.recent[inst.ID]; again {
		return false
	}
	w.recent[inst.ID] = inst
	w.order = append(w.order, inst.ID)
	w.bytes += len(inst.Result)
	for len(w.order) > recentMax || w.bytes > recentBytesMax {
		oldest := w.order[0]
		w.order = w.order[1:]
		w.bytes -= len(w.recent[oldest].Result)
		delete(w.recent, oldest)
	}
	return true
}

// notifyWaiters needs the lock.
func (w *waits) notifyWaiters(id uuid.UUID, what ended) {
	if all, ok := w.ids[id]; ok {
		for _, one := range all.callers {
			one.ended <- what // sent once: the wait leaves ids here
		}
		all.abandoned = true
		delete(w.ids, id)
	}
}

// due returns the instances to look up now, and when the next one is due; zero: no caller waits.
func (w *waits) due(now time.Time) (ids []uuid.UUID, next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lookups) > 0 {
		first := w.lookups[0]
		switch {
		case first.abandoned:
			heap.Pop(&w.lookups)
			continue
		case now.Before(first.at) || len(ids) == lookupBatch:
			return ids, first.at
		}
		ids = append(ids, first.id)
		first.pause = min(2*first.pause, waitPollMax)
		first.at = now.Add(first.pause)
		heap.Fix(&w.lookups, 0)
	}
	return ids, time.Time{}
}

func (w *waits) learn(ids []uuid.UUID, found []backend.Instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, id := range ids {
		switch found[i].Status {
		case backend.Running:
		case "":
			w.notifyWaiters(id, ended{err: fmt.Errorf("engine: instance %s: %w", id, ErrUnknownInstance)})
		default:
			delete(w.mine, id)
			w.notifyWaiters(id, ended{instance: found[i]})
		}
	}
}

func (e *Engine) pollWaits() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ids, next := e.waits.due(e.cfg.now())
		if len(ids) > 0 {
			e.lookUpWaited(ids)
		}
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(next.Sub(e.cfg.now()), waitPollFirst/2)) // lookups due at nearly the same time share a call
		}
		select {
		case <-timer.C:
		case <-e.waits.change:
		case <-e.background.Done():
			return
		}
	}
}

func (e *Engine) lookUpWaited(ids []uuid.UUID) {
	ctx, cancel := context.WithTimeout(e.background, e.cfg.CallTimeout)
	defer cancel()
	e.lookUp(ctx, ids, "that are waited for, tried again")
}

// lookUp reads instances and answers their callers. If the store does not answer, it reports a problem in which what describes
// them, and returns nil.
func (e *Engine) lookUp(ctx context.Context, ids []uuid.UUID, what string) []backend.Instance {
	found, err := e.cfg.Backend.Lookup(ctx, ids)
	if err == nil && len(found) != len(ids) {
		err = fmt.Errorf("the backend gave %d answers for %d", len(found), len(ids))
	}
	if err = explain(ctx, err); err != nil {
		if e.background.Err() == nil {
			e.cfg.Observer.problem(fmt.Errorf("looking up %d instances %s: %w", len(ids), what, err))
		}
		return nil
	}
	e.waits.learn(ids, found)
	return found
}
