package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// tx is one call's transaction. Changes are made in place, and each leaves behind what undoes it; runs find their queues
// when it commits.
type tx struct {
	state.Tx
	b    *Backend
	s    *store
	op   operation
	time time.Time // of Now

	ended   []backend.Instance // by this call, in order
	touched []*shard           // of which the call tells what is left to do
	claimed []*state.Run       // that have left the queue of what is ready
	leases  []handout          // that it gives; nothing of them is seen before it commits
	crashed error              // which ends the call
}

// handout is what a run becomes when it is handed out.
type handout struct {
	run *state.Run
	to  state.RunState
}

// savepoint is a place in a transaction to go back to.
type savepoint struct {
	state.Savepoint
	ended int
}

func (b *Backend) begin(op operation) *tx {
	s, now := b.store, b.clock()
	t := &tx{Tx: s.space.Begin(int64(now.Sub(s.epoch))), b: b, s: s, op: op, time: now}
	if b.crash != nil {
		t.Passed = func(step state.Step) error { return t.at(string(step)) }
	}
	return t
}

func (t *tx) savepoint() savepoint { return savepoint{t.Savepoint(), len(t.ended)} }

// rollback undoes what was changed since, last change first.
func (t *tx) rollback(to savepoint) {
	t.Rollback(to.Savepoint)
	t.ended = t.ended[:to.ended]
}

// abort undoes everything.
func (t *tx) abort() {
	t.rollback(savepoint{})
	for _, r := range t.claimed {
		instanceOf(r).shard.file(r)
	}
	t.Leave()
}

// commit makes the changes final.
func (t *tx) commit() {
	for i := range t.leases {
		l := &t.leases[i]
		l.run.RunState = l.to
		instanceOf(l.run).shard.file(l.run)
	}
	for _, r := range t.Requeued {
		instanceOf(r).shard.file(r)
	}
	t.Leave()
}

// touch has the call tell what is left to do in a shard.
func (t *tx) touch(sh *shard) {
	if !slices.Contains(t.touched, sh) {
		t.touched = append(t.touched, sh)
	}
}

// outlook fills in what is left to do after the call.
func (t *tx) outlook(out *backend.Committed) {
	for _, sh := range t.touched {
		sh.promote(t.Now)
		out.More = out.More || len(sh.ready) > 0
		if len(sh.waiting) == 0 {
			continue
		}
		if due := t.s.wall(sh.waiting[0].Due); out.NextDue.IsZero() || due.Before(out.NextDue) {
			out.NextDue = due
		}
	}
}

// outcome turns the error of one member of a batch into its answer: a refused member is taken back to
// the savepoint, and a crash ends the call.
func (t *tx) outcome(sp savepoint, err error) (backend.Outcome, error) {
	switch {
	case err == nil:
		return backend.Outcome{Answer: backend.Applied}, nil
	case t.crashed != nil:
		return backend.Outcome{}, err
	}
	t.rollback(sp)
	return backend.Outcome{Answer: backend.Refused, Err: err}, nil
}

// apply applies a plan with all that follows from it, and ends the instance if they lead to its end.
func (t *tx) apply(inst *instance, p plan.Plan) error {
	end, err := t.Apply(&inst.Instance, p)
	switch {
	case err != nil || end == nil:
		return err
	case end.Failure != nil:
		return t.end(inst, backend.Failed, plan.End{Failure: end.Failure})
	}
	return t.end(inst, backend.Completed, *end)
}

// end ends an instance and takes away all that it held.
func (t *tx) end(inst *instance, status backend.Status, end plan.End) error {
	t.Empty(&inst.Instance)
	t.Undone(func() { inst.status, inst.result, inst.failure = backend.Running, nil, nil })
	inst.status, inst.result, inst.failure = status, bytes.Clone(end.Result), cloneFailure(end.Failure)
	t.ended = append(t.ended, inst.public())
	return t.at(pointEnd)
}

// lease hands a run to the grant's owner.
func (t *tx) lease(r *state.Run, grant *backend.Grant) (backend.Task, error) {
	inst := instanceOf(r)
	args, err := r.AssembleArgs()
	if err != nil {
		return backend.Task{}, fmt.Errorf("leasing node %d of instance %s: %w", r.Key.Node, inst.ID, err)
	}
	t.s.token++
	t.leases = append(t.leases, handout{r, state.RunState{
		Place: state.Leased, Attempt: r.Attempt, Counted: r.Counted + 1, Due: t.Now + int64(grant.Lease), Token: t.s.token, Holder: grant.Owner,
	}})
	task := backend.Task{
		Lease:   backend.Lease{Key: backend.Key{Instance: inst.ID, Run: r.Key}, Token: t.s.token},
		Program: inst.program,
		Action:  r.Action,
		Args:    args,
		Attempt: int(r.Attempt),
		Expires: t.time.Add(grant.Lease),

		Deliveries: int(r.Counted) + 1,
	}
	return task, t.at(pointLease)
}

// grant leases what this call made ready, as far as the grant goes. No run becomes ready twice in one call.
func (t *tx) grant(grant *backend.Grant) ([]backend.Task, error) {
	most := 0
	for _, r := range t.Requeued {
		if r.Place == state.Ready {
			most++
		}
	}
	if most = min(most, grant.Max); most == 0 {
		return nil, nil
	}
	tasks := make([]backend.Task, 0, most)
	t.leases = slices.Grow(t.leases, most)
	for _, r := range t.Requeued {
		if len(tasks) >= grant.Max {
			break
		}
		if r.Place != state.Ready {
			continue // it has ended, or waits; or its instance has ended since, or it was cancelled
		}
		task, err := t.lease(r, grant)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

func cloneFailure(f *plan.Failure) *plan.Failure {
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

// public copies what a caller may know of an instance.
func (inst *instance) public() backend.Instance {
	return backend.Instance{
		ID:      inst.ID,
		Status:  inst.status,
		Result:  json.RawMessage(bytes.Clone(inst.result)),
		Failure: cloneFailure(inst.failure),
	}
}
