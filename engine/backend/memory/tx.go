package memory

import (
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// tx is one call's transaction. Changes are made in place, and each leaves behind what undoes it.
type tx struct {
	b   *Backend
	s   *store
	op  operation
	now time.Time // one instant for the whole call

	undo  []func()
	ready []*row             // made ready by this call, in order
	ended []backend.Instance // by this call, in order
}

// savepoint is a place in a transaction to go back to.
type savepoint struct{ undo, ready, ended int }

func (t *tx) savepoint() savepoint {
	return savepoint{undo: len(t.undo), ready: len(t.ready), ended: len(t.ended)}
}

// rollback undoes what was changed since, last change first.
func (t *tx) rollback(to savepoint) {
	for i := len(t.undo) - 1; i >= to.undo; i-- {
		t.undo[i]()
	}
	clear(t.undo[to.undo:])
	t.undo = t.undo[:to.undo]
	t.ready = t.ready[:to.ready]
	t.ended = t.ended[:to.ended]
}

// commit makes the changes final.
func (t *tx) commit() {
	t.undo, t.ready, t.ended = nil, nil, nil
}

// put stores a map's value for the duration of the transaction and, if it commits, for good.
func put[K comparable, V any](t *tx, m map[K]V, key K, value V) {
	old, had := m[key]
	m[key] = value
	t.undo = append(t.undo, func() {
		if had {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

// set changes a row.
func (t *tx) set(r *row, state rowState) {
	sh, old := t.s.shards[r.inst.shard], r.rowState
	sh.put(r, state)
	t.undo = append(t.undo, func() { sh.put(r, old) })
}

// makeReady makes a row claimable from now on.
func (t *tx) makeReady(r *row, state rowState) {
	state.place, state.at, state.token, state.owner = inReady, t.now, 0, ""
	t.set(r, state)
	t.ready = append(t.ready, r)
}

// promote makes claimable what has become due: retries, and expired leases, whose token stays the
// current one until somebody claims them.
func (t *tx) promote(sh *shard) {
	for _, h := range []*rowHeap{&sh.waiting, &sh.leased} {
		for h.len() > 0 && !h.min().at.After(t.now) {
			state := h.min().rowState
			state.place = inReady
			t.set(h.min(), state)
		}
	}
}

// lease hands a row to the grant's owner.
func (t *tx) lease(r *row, grant backend.Grant) (backend.Task, error) {
	args, err := backend.AssembleArgs(r.args, r.inst.slot)
	if err != nil {
		return backend.Task{}, fmt.Errorf("leasing node %d of instance %s: %w", r.run.Node, r.inst.id, err)
	}
	t.s.token++
	state := r.rowState
	state.place, state.at = inLeased, t.now.Add(grant.Lease)
	state.token, state.owner = t.s.token, grant.Owner
	t.set(r, state)
	task := backend.Task{
		Lease:   backend.Lease{Key: backend.Key{Instance: r.inst.id, Run: r.run}, Token: state.token},
		Program: r.inst.program,
		Action:  r.action,
		Args:    args,
		Attempt: r.attempt,
		Expires: state.at,
	}
	return task, t.at(pointLease)
}

// grant leases what this call made ready, as far as the grant goes.
func (t *tx) grant(grant backend.Grant) ([]backend.Task, error) {
	var tasks []backend.Task
	for _, r := range t.ready {
		if len(tasks) >= grant.Max {
			break
		}
		if r.place != inReady {
			continue // its instance has ended since, or it was called off
		}
		task, err := t.lease(r, grant)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// outlook fills in what is left to do in a shard after the call.
func (t *tx) outlook(sh *shard, out *backend.Committed) {
	t.promote(sh)
	out.More = out.More || sh.ready.len() > 0
	if sh.waiting.len() == 0 {
		return
	}
	if due := sh.waiting.min().at; out.NextDue.IsZero() || due.Before(out.NextDue) {
		out.NextDue = due
	}
}

// end ends an instance and takes away all that it held.
func (t *tx) end(inst *instance, status backend.Status, end plan.End) error {
	old := *inst
	t.undo = append(t.undo, func() {
		inst.status, inst.result, inst.failure, inst.held = old.status, old.result, old.failure, old.held
	})
	for _, r := range inst.rows.at {
		if r.place != nowhere {
			t.set(r, rowState{place: nowhere, attempt: r.attempt})
		}
	}
	inst.status, inst.result, inst.failure, inst.held = status, cloneJSON(end.Result), cloneFailure(end.Failure), held{}
	t.ended = append(t.ended, inst.public())
	return t.at(pointEnd)
}
