package journal

import (
	"encoding/json"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// The kinds of events.
const (
	kindResult   = 0
	kindFailure  = 1
	kindRetry    = 2
	kindSnapshot = 3
)

// event is a row to append.
type event struct {
	inst  *instance
	key   graph.Run
	kind  int16
	timed bool
	token int64
	data  []byte
}

// ending is an instance that ends, or, of a submission, one that begins and may end at once.
type ending struct {
	inst   *instance
	token  int64 // of the completion that ended it
	input  json.RawMessage
	public backend.Instance // with status, and what the end has
}

// tx is what one append makes of a shard's memory. Changes are made in place, and each leaves behind what
// undoes it; nothing of it is shown to anybody before it has been committed. The queues are changed only then.
type tx struct {
	b     *Backend
	sh    *shardState
	now   int64 // one instant for the whole call
	final bool  // what is applied has happened: nothing is undone

	undo   []undo
	moved  []*run // what is to find its queue, in order; some more than once
	events []event
	ends   []ending
	births []ending
	timed  bool // the event at hand has made something wait for its time
}

// savepoint is a place in a transaction to go back to.
type savepoint struct{ undo, moved, events, ends, births int }

// begin begins a transaction, in memory that one before has left.
func (sh *shardState) begin() *tx {
	t := &tx{b: sh.b, sh: sh, now: sh.b.now(), undo: sh.spare.undo, moved: sh.spare.moved, events: sh.spare.events}
	sh.spare = spare{}
	return t
}

func (t *tx) savepoint() savepoint {
	return savepoint{len(t.undo), len(t.moved), len(t.events), len(t.ends), len(t.births)}
}

// rollback undoes what was changed since, last change first.
func (t *tx) rollback(to savepoint) {
	for i := len(t.undo) - 1; i >= to.undo; i-- {
		t.undo[i].back(t)
	}
	clear(t.undo[to.undo:])
	clear(t.moved[to.moved:])
	clear(t.events[to.events:])
	t.undo = t.undo[:to.undo]
	t.moved, t.events = t.moved[:to.moved], t.events[:to.events]
	t.ends, t.births = t.ends[:to.ends], t.births[:to.births]
}

// undone has a rollback call f. What happens in every completion has kinds of its own (see undo).
func (t *tx) undone(f func()) {
	if !t.final {
		t.undo = append(t.undo, undo{kind: undoCall, call: f})
	}
}

// putRun adds a run, which is not there.
func (t *tx) putRun(inst *instance, a address, r *run) {
	inst.runs.put(a, r)
	if !t.final {
		t.undo = append(t.undo, undo{kind: undoPut, inst: inst, at: a})
	}
}

// removeRun takes a run away, which is there.
func (t *tx) removeRun(inst *instance, a address, r *run) {
	inst.runs.drop(a)
	if !t.final {
		t.undo = append(t.undo, undo{kind: undoRemove, inst: inst, at: a, run: r})
	}
}

// put stores an entry of a table for the duration of the transaction and, if it commits, for good.
func put[V any](t *tx, tb *table[V], a address, v V) {
	if t.final {
		tb.put(a, v)
		return
	}
	old, had := tb.get(a)
	tb.put(a, v)
	t.undone(func() {
		if had {
			tb.put(a, old)
		} else {
			tb.drop(a)
		}
	})
}

// remove takes an entry away.
func remove[V any](t *tx, tb *table[V], a address) {
	if t.final {
		tb.drop(a)
		return
	}
	if old, had := tb.get(a); had {
		tb.drop(a)
		t.undone(func() { tb.put(a, old) })
	}
}

// set changes a run.
func (t *tx) set(r *run, state runState) {
	old := r.runState
	r.runState = state
	if !t.final {
		t.undo = append(t.undo, undo{kind: undoSet, run: r, state: old})
		t.moved = append(t.moved, r)
	}
}

// end ends an instance: nothing of it stays.
func (t *tx) end(inst *instance, status backend.Status, end plan.End, token int64) {
	public := backend.Instance{ID: inst.id, Status: status, Result: end.Result, Failure: end.Failure}
	old := *inst
	t.undone(func() {
		inst.gone, inst.runs, inst.barriers, inst.slots = old.gone, old.runs, old.barriers, old.slots
		t.sh.instances[inst.id] = inst
	})
	inst.runs.each(func(_ address, r *run) { t.set(r, runState{attempt: r.attempt}) })
	inst.gone, inst.runs, inst.barriers, inst.slots = true, table[*run]{}, table[*barrier]{}, table[value]{}
	delete(t.sh.instances, inst.id)
	t.sh.bytes -= inst.bytes
	t.undone(func() { t.sh.bytes += inst.bytes })
	t.ends = append(t.ends, ending{inst: inst, token: token, public: public})
}

// commit puts what the append has changed where it waits, and hands out what it made ready, as far as the
// grant goes.
func (t *tx) commit(grant backend.Grant) ([]backend.Task, error) {
	sh := t.sh
	for _, e := range t.events {
		if !e.inst.gone {
			if e.kind == kindSnapshot { // it stands for all before
				sh.pages.drop(e.inst.events)
				t.grow(e.inst, -eventBytes*len(e.inst.events))
				e.inst.events, e.inst.look = e.inst.events[:0], 0
			}
			t.grow(e.inst, eventBytes)
			e.inst.events = append(e.inst.events, sh.seq)
			sh.pages.add(sh.seq)
			sh.seq++
		}
	}
	for _, e := range t.ends {
		sh.pages.drop(e.inst.events)
		e.inst.events = nil
	}
	var tasks []backend.Task
	if n := t.grants(grant); n > 0 {
		tasks = make([]backend.Task, 0, n)
	}
	var failed error
	for _, r := range t.moved {
		if r.place == ready && !r.inst.gone && len(tasks) < grant.Max && !r.queued && failed == nil {
			sh.lease(r, t.now, grant)
			task, err := r.task(t.b)
			if err == nil {
				tasks = append(tasks, task)
				continue
			}
			failed = err
		}
		sh.file(r)
	}
	t.leave()
	sh.publish()
	return tasks, failed
}

// grants is how many tasks a grant may bring at most.
func (t *tx) grants(grant backend.Grant) int {
	n := 0
	for _, r := range t.moved {
		if r.place == ready {
			n++
		}
	}
	return min(n, grant.Max)
}

// file puts a run where its place says.
func (sh *shardState) file(r *run) {
	switch r.heap {
	case waitingHeap:
		sh.waiting.remove(r)
	case leasedHeap:
		sh.leased.remove(r)
	}
	r.heap = noHeap
	if r.inst.gone {
		return
	}
	switch r.place {
	case ready:
		sh.ready.push(r)
	case waiting:
		r.heap = waitingHeap
		sh.waiting.add(r)
	case leased:
		r.heap = leasedHeap
		sh.leased.add(r)
	}
}

// lease gives a run a new token and a holder.
func (sh *shardState) lease(r *run, now int64, grant backend.Grant) {
	sh.tokens++
	r.place, r.token, r.due = leased, sh.tokens, now+int64(grant.Lease)
	if told := sh.b.leased; told != nil {
		told(r.inst.id, r.key, r.token, int(r.attempt))
	}
	sh.file(r)
}

// promote makes claimable what has become due: what waited, and expired leases, whose token stays the current
// one until somebody claims them. These come first: they have had their turn.
func (sh *shardState) promote(now int64) {
	for _, h := range []*heap{&sh.waiting, &sh.leased} {
		for len(*h) > 0 && (*h)[0].due <= now {
			r := (*h)[0]
			if r.heap == leasedHeap {
				sh.ready.first(r)
			}
			r.place = ready
			sh.file(r)
		}
	}
}

// claim leases what is ready, oldest first.
func (sh *shardState) claim(now int64, grant backend.Grant) ([]backend.Task, error) {
	sh.promote(now)
	var tasks []backend.Task
	for len(tasks) < grant.Max {
		r := sh.ready.peek()
		if r == nil {
			break
		}
		sh.ready.pop()
		sh.lease(r, now, grant)
		task, err := r.task(sh.b)
		if err != nil {
			return tasks, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// outlook fills in what is left to do after a call.
func (sh *shardState) outlook(now int64, out *backend.Committed) {
	sh.promote(now)
	out.More = out.More || sh.ready.peek() != nil
	if len(sh.waiting) > 0 {
		sh.outlookAt(sh.waiting[0].due, out)
	}
	if len(sh.lot.heap) > 0 {
		sh.outlookAt(sh.lot.heap[0].due, out)
	}
}

func (sh *shardState) outlookAt(at int64, out *backend.Committed) {
	if due := sh.b.wall(at); out.NextDue.IsZero() || due.Before(out.NextDue) {
		out.NextDue = due
	}
}

// held finds the run of a lease that is the current one; nil where it is not.
func (sh *shardState) held(l backend.Lease) *run {
	inst := sh.instances[l.Key.Instance]
	if inst == nil || l.Token == 0 {
		return nil
	}
	r, ok := inst.runs.get(ofRun(l.Key.Run))
	if !ok || r.token != l.Token {
		return nil
	}
	return r
}
