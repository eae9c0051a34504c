package journal

import (
	"encoding/json"
	"math"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
)

type pendingEvent struct {
	inst  *instance
	key   graph.Run
	kind  int16
	timed bool
	token int64
	data  []byte
}

// ending is an instance that ends, or a new one, which may end at once.
type ending struct {
	inst   *instance
	token  int64 // of the completion that ended it
	input  json.RawMessage
	public backend.Instance
}

// tx is a transaction in a shard's memory, made durable by one append. Each change records how to undo it. Nothing is answered,
// and no queue changes, before the commit.
type tx struct {
	state.Tx
	b  *Backend
	sh *shardState

	events  []pendingEvent
	ends    []ending
	created []ending
}

type savepoint struct {
	state.Savepoint
	events, ends, created int
}

// begin reuses the memory of the previous transaction.
func (sh *shardState) begin() *tx {
	t := &tx{Tx: sh.space.Begin(sh.b.now()), b: sh.b, sh: sh, events: sh.spare}
	sh.spare = nil
	return t
}

func (t *tx) savepoint() savepoint {
	return savepoint{t.Savepoint(), len(t.events), len(t.ends), len(t.created)}
}

func (t *tx) rollback(to savepoint) {
	t.Rollback(to.Savepoint)
	clear(t.events[to.events:])
	t.events, t.ends, t.created = t.events[:to.events], t.ends[:to.ends], t.created[:to.created]
}

func (t *tx) leave() {
	t.Leave()
	t.sh.spare, t.events = state.Emptied(t.events), nil
}

func (t *tx) end(inst *instance, status backend.Status, end plan.End, token int64) {
	public := backend.Instance{ID: inst.ID, Status: status, Result: end.Result, Failure: end.Failure}
	t.Empty(&inst.Instance)
	delete(t.sh.instances, inst.ID)
	t.Undone(func() { t.sh.instances[inst.ID] = inst })
	t.ends = append(t.ends, ending{inst: inst, token: token, public: public})
}

func (t *tx) commit(grant backend.Grant) ([]backend.Task, error) {
	sh := t.sh
	for _, e := range t.events {
		if !e.inst.Detached {
			if e.kind == journalstore.KindSnapshot { // it replaces all events before
				sh.pages.drop(e.inst.events)
				t.Grow(&e.inst.Instance, -eventBytes*len(e.inst.events))
				e.inst.events, e.inst.nextSnapshotCheck = e.inst.events[:0], 0
			}
			t.Grow(&e.inst.Instance, eventBytes)
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
	for _, r := range t.Requeued {
		if r.Place == state.Ready && !r.Inst.Detached && len(tasks) < grant.Max && grant.Holds(instanceOf(r).program) && !r.Queued() && failed == nil && deliverable(r) {
			sh.lease(r, t.Now, grant)
			task, err := t.b.task(r)
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

func (t *tx) grants(grant backend.Grant) int {
	n := 0
	for _, r := range t.Requeued {
		if r.Place == state.Ready {
			n++
		}
	}
	return min(n, grant.Max)
}

func (sh *shardState) file(r *state.Run) {
	var to *state.Heap
	switch {
	case r.Inst.Detached:
	case r.Place == state.Ready:
		sh.ready.Push(r)
		if sh.turns != nil {
			sh.turns.Push(r)
		}
	case r.Place == state.Waiting:
		to = &sh.waiting
	case r.Place == state.Leased:
		to = &sh.leased
	}
	r.Move(to)
}

func (sh *shardState) lease(r *state.Run, now int64, grant backend.Grant) {
	sh.tokens++
	r.Place, r.Token, r.Due = state.Leased, sh.tokens, now+int64(grant.Lease)
	r.Counted++
	if told := sh.b.leased; told != nil {
		told(r.Inst.ID, r.Key, r.Token, int(r.Attempt), int(r.Counted))
	}
	sh.file(r)
}

// promote makes due node runs claimable: those that waited, and expired leases, whose token stays current until the next claim.
// Expired leases go first, since they had their turn.
func (sh *shardState) promote(now int64) {
	for _, h := range []*state.Heap{&sh.waiting, &sh.leased} {
		for len(*h) > 0 && (*h)[0].Due <= now {
			r := (*h)[0].Run
			if h == &sh.leased {
				sh.ready.PushFirst(r)
			}
			r.Place = state.Ready
			sh.file(r)
		}
	}
}

// claim leases ready node runs: in the order of the queue, up to one whose next delivery is not durable yet, or by turns.
func (sh *shardState) claim(now int64, grant backend.Grant) ([]backend.Task, error) {
	sh.promote(now)
	next := sh.nextByTime
	if grant.Order != backend.ByTime && grant.Priority == 0 {
		sh.startTurns()
		next = func(int64) (*state.Run, int64) { return sh.nextByTurns(grant.Order) }
	} else {
		sh.endTurns()
	}
	var tasks []backend.Task
	for len(tasks) < grant.Max {
		r, rank := next(now - int64(grant.HeadStart()))
		if r == nil {
			break
		}
		sh.lease(r, now, grant)
		task, err := sh.b.task(r)
		if err != nil {
			return tasks, err
		}
		task.Since = sh.b.wall(rank)
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// nextByTime removes the node run that is next in the queue, and returns it with its rank, unless that is after a time.
func (sh *shardState) nextByTime(before int64) (r *state.Run, rank int64) {
	if r, rank = sh.ready.PeekBefore(before); r == nil || !deliverable(r) {
		return nil, 0
	}
	sh.ready.Pop()
	return r, rank
}

// nextByTurns removes a node run of the workflow or the instance whose turn it is. One whose next delivery is not durable yet is left to a
// claim by time.
func (sh *shardState) nextByTurns(order backend.Order) (r *state.Run, rank int64) {
	if r = sh.turns.Next(order, deliverable); r == nil {
		return nil, 0
	}
	return r, r.Due - r.Inst.HeadStart
}

// startTurns prepares a claim by turns.
func (sh *shardState) startTurns() {
	if sh.withoutTurns = 0; sh.turns == nil {
		sh.turns = &state.Turns{}
		sh.ready.First(math.MaxInt, sh.turns.Push)
	}
}

// withoutTurnsMax is after how many claims by time nobody seems to claim by turns any more.
const withoutTurnsMax = 100

// endTurns forgets the turns where they are not needed: nothing waits, or no engine claims by turns.
func (sh *shardState) endTurns() {
	if sh.turns == nil {
		return
	}
	if sh.withoutTurns++; sh.withoutTurns > withoutTurnsMax || sh.ready.Peek() == nil {
		sh.turns.Forget()
		sh.turns = nil
	}
}

func (sh *shardState) outlook(now int64, out *backend.Committed) {
	sh.promote(now)
	out.More = out.More || sh.ready.Peek() != nil
	if len(sh.waiting) > 0 {
		sh.outlookAt(sh.waiting[0].Due, out)
	}
	if len(sh.evicted.heap) > 0 {
		sh.outlookAt(sh.evicted.heap[0].due, out)
	}
}

func (sh *shardState) outlookAt(at int64, out *backend.Committed) {
	if due := sh.b.wall(at); out.NextDue.IsZero() || due.Before(out.NextDue) {
		out.NextDue = due
	}
}

func (sh *shardState) heldRun(l backend.Lease) *state.Run {
	inst := sh.instances[l.Key.Instance]
	if inst == nil || l.Token == 0 {
		return nil
	}
	r, ok := inst.Runs.Get(state.OfRun(l.Key.Run))
	if !ok || r.Token != l.Token {
		return nil
	}
	return r
}
