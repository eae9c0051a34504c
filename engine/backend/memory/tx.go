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

// tx is a call's transaction. Each change records how to undo it; runs are queued at the commit.
type tx struct {
	state.Tx
	b    *Backend
	s    *store
	op   operation
	time time.Time // of Now

	ended   []backend.Instance // by this call, in order
	touched []*shard           // whose outlook the call reports
	claimed []*state.Run       // runs removed from ready
	leases  []handout          // issued by the call; visible at its commit
	crashed error              // ends the call
}

type handout struct {
	run *state.Run
	to  state.RunState
}

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

func (t *tx) rollback(to savepoint) {
	t.Rollback(to.Savepoint)
	t.ended = t.ended[:to.ended]
}

func (t *tx) abort() {
	t.rollback(savepoint{})
	for _, r := range t.claimed {
		instanceOf(r).shard.file(r)
	}
	t.Leave()
}

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

func (t *tx) touch(sh *shard) {
	if !slices.Contains(t.touched, sh) {
		t.touched = append(t.touched, sh)
	}
}

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

// outcome turns the error of a batch's member into its answer: a refused member is rolled back, and a crash ends the call.
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

func (t *tx) end(inst *instance, status backend.Status, end plan.End) error {
	t.Empty(&inst.Instance)
	t.Undone(func() { inst.status, inst.result, inst.failure = backend.Running, nil, nil })
	inst.status, inst.result, inst.failure = status, bytes.Clone(end.Result), cloneFailure(end.Failure)
	t.ended = append(t.ended, inst.public())
	return t.at(pointEnd)
}

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

// grant leases what this call made ready, as far as the grant allows. No run becomes ready twice in one call.
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
		if r.Place != state.Ready || !grant.Holds(instanceOf(r).program) {
			continue // it waits, or has ended or been cancelled since
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

func (inst *instance) public() backend.Instance {
	return backend.Instance{
		ID:      inst.ID,
		Status:  inst.status,
		Result:  json.RawMessage(bytes.Clone(inst.result)),
		Failure: cloneFailure(inst.failure),
	}
}
