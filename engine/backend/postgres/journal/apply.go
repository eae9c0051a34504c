package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
)

// instance is a running instance in its owner's memory: the result of its events, applied in order.
type instance struct {
	state.Instance
	program  *plan.Program
	workflow int32 // number in the store

	events            []int64 // the seqs of its stored events
	nextSnapshotCheck int     // number of events at which to check for a snapshot
	snapshot          int64   // seq of the snapshot from which it was loaded; zero: none
}

func newInstance(id uuid.UUID, program *plan.Program, workflow int32) *instance {
	inst := &instance{program: program, workflow: workflow}
	inst.ID, inst.Core, inst.Owner, inst.HeadStart = id, program, inst, int64(backend.HeadStart(program))
	return inst
}

func instanceOf(r *state.Run) *instance { return r.Inst.Owner.(*instance) }

func (b *Backend) task(r *state.Run) (backend.Task, error) {
	args, err := r.AssembleArgs()
	return backend.Task{
		Lease:   backend.Lease{Key: backend.Key{Instance: r.Inst.ID, Run: r.Key}, Token: r.Token},
		Program: instanceOf(r).program,
		Action:  r.Action,
		Args:    args,
		Attempt: int(r.Attempt),
		Expires: b.wall(r.Due),

		Deliveries: int(r.Counted),
	}, err
}

// apply applies a plan with its continuations, which may end the instance with the completion's token. On an error the event is
// refused.
func (t *tx) apply(inst *instance, p plan.Plan, token int64) error {
	end, err := t.Apply(&inst.Instance, p)
	switch {
	case err != nil || end == nil:
		return err
	case t.Final:
		return fmt.Errorf("instance %s: its events lead to an end, and it is stored as running", inst.ID)
	case end.Failure != nil:
		t.end(inst, backend.Failed, plan.End{Failure: end.Failure}, token)
	default:
		t.end(inst, backend.Completed, *end, token)
	}
	return nil
}

func (t *tx) start(inst *instance, p plan.Plan) error {
	t.sh.instances[inst.ID] = inst
	t.Undone(func() { delete(t.sh.instances, inst.ID) })
	t.Begin(&inst.Instance)
	return t.apply(inst, p, 0)
}

func (t *tx) advance(r *state.Run, c *backend.Completion) error {
	inst := instanceOf(r)
	switch {
	case c.Program == nil:
		return fmt.Errorf("instance %s, %s: a completion without its program", inst.ID, inst.program.RunName(r.Key))
	case c.Program != inst.program && c.Program.Hash() != inst.program.Hash():
		return fmt.Errorf("instance %s runs another program than the one it is completed with", inst.ID)
	case c.Attempt != int(r.Attempt):
		return fmt.Errorf("instance %s, %s: attempt %d is completed as attempt %d", inst.ID, inst.program.RunName(r.Key), r.Attempt, c.Attempt)
	}
	ev := plan.Event{Run: r.Key, Attempt: c.Attempt, Result: bytes.Clone(c.Result), Failure: c.Failure}
	p, err := t.Step(&inst.Instance, ev, t.b.jitter())
	if err != nil {
		return err
	}
	e := pendingEvent{inst: inst, key: r.Key, token: r.Token, data: ev.Result}
	if c.Failure != nil {
		e.kind = journalstore.KindFailure
		if e.data, err = json.Marshal(c.Failure); err != nil {
			return fmt.Errorf("instance %s, %s: %w", inst.ID, inst.program.RunName(r.Key), err)
		}
	}
	if p.Retry != nil {
		e.kind, e.timed = journalstore.KindRetry, p.Retry.After > 0
		e.data = appendInt(nil, int64(p.Retry.After))
		t.events = append(t.events, e)
		t.Retry(r, p.Retry.After)
		return nil
	}
	t.Timed = false
	if err := t.completed(r, p, e.token); err != nil {
		return err
	}
	e.timed = t.Timed
	t.events = append(t.events, e)
	if !inst.Detached && inst.snapshotDue() && !t.snapped(inst) {
		return t.snapshot(inst, e.token)
	}
	return nil
}

func (t *tx) snapped(inst *instance) bool {
	for i := range t.events {
		if t.events[i].kind == journalstore.KindSnapshot && t.events[i].inst == inst {
			return true
		}
	}
	return false
}

func (t *tx) completed(r *state.Run, p plan.Plan, token int64) error {
	t.Done(r)
	return t.apply(instanceOf(r), p, token)
}
