package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Submit stores new instances; see backend.Backend.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	if err := grant.Check(); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opSubmit, err)
	}
	return b.run(ctx, opSubmit, func(t *tx) (backend.Committed, error) {
		var out backend.Committed
		touched := make([]bool, len(t.s.shards))
		for _, sub := range subs {
			shard := backend.ShardOf(sub.ID, len(t.s.shards))
			touched[shard] = true
			answer, err := t.submit(sub, shard)
			if err != nil {
				return out, err
			}
			out.Outcomes = append(out.Outcomes, answer)
		}
		err := t.finish(grant, &out)
		for i, sh := range t.s.shards {
			if touched[i] {
				t.outlook(sh, &out)
			}
		}
		return out, err
	})
}

// submit stores one instance and what its start makes ready.
func (t *tx) submit(sub backend.Submission, shard int) (backend.Outcome, error) {
	if _, ok := t.s.instances[sub.ID]; ok {
		return backend.Outcome{Answer: backend.Duplicate}, nil
	}
	sp := t.savepoint()
	return t.outcome(sp, t.start(sub, shard))
}

func (t *tx) start(sub backend.Submission, shard int) error {
	if sub.Program == nil {
		return refuse("instance %s has no program", sub.ID)
	}
	p, err := t.b.core(sub.Program).Start(sub.Input)
	if err != nil {
		return refusal{err}
	}
	inst := &instance{
		id:      sub.ID,
		shard:   shard,
		program: sub.Program,
		status:  backend.Running,
		held:    newHeld(),
	}
	put(t, t.s.instances, sub.ID, inst)
	if err := t.at(pointInstance); err != nil {
		return err
	}
	return t.settle(inst, p)
}

// finish grants leases and reports what ended.
func (t *tx) finish(grant backend.Grant, out *backend.Committed) error {
	var err error
	out.Tasks, err = t.grant(grant)
	out.Ended = slices.Clone(t.ended)
	return err
}

// Claim leases what is due; see backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opClaim, err)
	}
	return b.run(ctx, opClaim, func(t *tx) (backend.Committed, error) {
		var out backend.Committed
		sh := t.s.shards[shard]
		t.promote(sh)
		for len(out.Tasks) < grant.Max && sh.ready.len() > 0 {
			task, err := t.lease(sh.ready.min(), grant)
			if err != nil {
				return out, err
			}
			out.Tasks = append(out.Tasks, task)
		}
		t.outlook(sh, &out)
		return out, nil
	})
}

// Complete applies completions; see backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opComplete, err)
	}
	return b.run(ctx, opComplete, func(t *tx) (backend.Committed, error) {
		var out backend.Committed
		for _, c := range completions {
			answer, err := t.complete(shard, c)
			if err != nil {
				return out, err
			}
			out.Outcomes = append(out.Outcomes, answer)
		}
		err := t.finish(grant, &out)
		t.outlook(t.s.shards[shard], &out)
		return out, err
	})
}

// complete applies one completion, if its lease is the current one.
func (t *tx) complete(shard int, c backend.Completion) (backend.Outcome, error) {
	r := t.s.held(shard, c.Lease)
	if r == nil {
		return backend.Outcome{Answer: backend.Stale}, nil
	}
	sp := t.savepoint()
	return t.outcome(sp, t.advance(r, c))
}

// advance takes an instance forward by the end of one attempt.
func (t *tx) advance(r *row, c backend.Completion) error {
	inst := r.inst
	switch {
	case c.Program == nil:
		return refuse("the completion of node %d of instance %s has no program", r.run.Node, inst.id)
	case c.Program.Hash() != inst.program.Hash():
		return refuse("instance %s runs another program than the one it is completed with", inst.id)
	case c.Attempt != r.attempt:
		return refuse("node %d of instance %s: attempt %d is completed as attempt %d", r.run.Node, inst.id, r.attempt, c.Attempt)
	}
	before := r.rowState
	t.set(r, rowState{place: nowhere, attempt: r.attempt, done: true})
	if err := t.at(pointGuard); err != nil {
		return err
	}
	ev := plan.Event{Run: r.run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
	p, err := t.step(inst, ev)
	if err != nil {
		return err
	}
	if p.Retry != nil {
		return t.retry(r, before, *p.Retry)
	}
	return t.settle(inst, p)
}

// retry offers a failed run again, at once or after a wait.
func (t *tx) retry(r *row, state rowState, retry plan.Retry) error {
	state.attempt++
	if retry.After <= 0 {
		t.makeReady(r, state)
		return t.at(pointRetry)
	}
	state.place, state.at, state.token, state.owner = inWaiting, t.now.Add(retry.After), 0, ""
	t.set(r, state)
	return t.at(pointRetry)
}

// Extend prolongs leases; see backend.Backend.
func (b *Backend) Extend(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	err := b.check(shard, grant)
	if err == nil && grant.Lease <= 0 {
		err = fmt.Errorf("lease of %s; give a positive duration", grant.Lease)
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", opExtend, err)
	}
	kept := make([]bool, len(leases))
	_, err = b.run(ctx, opExtend, func(t *tx) (backend.Committed, error) {
		for i, l := range leases {
			r := t.s.held(shard, l)
			if r == nil {
				continue
			}
			state := r.rowState
			state.place, state.at = inLeased, t.now.Add(grant.Lease)
			t.set(r, state)
			kept[i] = true
			if err := t.at(pointLease); err != nil {
				return backend.Committed{}, err
			}
		}
		return backend.Committed{}, nil
	})
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// Sweep finds nothing: an instance's end removes all that it held.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	err := b.check(shard, backend.Grant{})
	if err == nil {
		err = b.usable(ctx)
	}
	if err != nil {
		return backend.Swept{}, fmt.Errorf("memory: sweep: %w", err)
	}
	return backend.Swept{}, nil
}

// Cancel ends running instances; see backend.Canceler.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	_, err := b.run(ctx, opCancel, func(t *tx) (backend.Committed, error) {
		failure := plan.Failure{Type: backend.CanceledType, Message: reason}
		for i, id := range ids {
			out[i].ID = id
			inst, ok := t.s.instances[id]
			if !ok {
				continue
			}
			if inst.status == backend.Running {
				if err := t.end(inst, backend.Canceled, plan.End{Failure: &failure}); err != nil {
					return backend.Committed{}, err
				}
			}
			out[i] = inst.public()
		}
		return backend.Committed{}, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Lookup reads instances; see backend.Backend.
func (b *Backend) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	if err := b.usable(ctx); err != nil {
		return nil, fmt.Errorf("memory: lookup: %w", err)
	}
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		out[i].ID = id
		if inst, ok := b.store.instances[id]; ok {
			out[i] = inst.public()
		}
	}
	return out, nil
}

func (b *Backend) check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return err
	}
	return grant.Check()
}

// held finds the row of a lease that is the current one; nil where it is not.
func (s *store) held(shard int, l backend.Lease) *row {
	inst, ok := s.instances[l.Key.Instance]
	if !ok || inst.shard != shard {
		return nil
	}
	r, ok := inst.rows.at[ofRun(l.Key.Run)]
	if !ok || r.token == 0 || r.token != l.Token {
		return nil
	}
	return r
}

// slot reads a value of the inbox, whole.
func (inst *instance) slot(s plan.Slot) (json.RawMessage, bool) {
	v, ok := inst.slots.at[ofSlot(s)]
	if !ok {
		return nil, false
	}
	whole, err := plan.JoinAppended(v.base, v.list(s))
	return whole, err == nil // nothing was appended that cannot be joined
}

// public copies what a caller may know of an instance.
func (inst *instance) public() backend.Instance {
	return backend.Instance{
		ID:      inst.id,
		Status:  inst.status,
		Result:  cloneJSON(inst.result),
		Failure: cloneFailure(inst.failure),
	}
}
