package memory

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// Submit implements backend.Backend.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	if err := grant.Check(); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opSubmit, err)
	}
	return b.run(ctx, opSubmit, func(t *tx) (out backend.Committed, err error) {
		out.Outcomes = make([]backend.Outcome, len(subs))
		for i := range subs {
			if out.Outcomes[i], err = t.submit(&subs[i]); err != nil {
				return out, err
			}
		}
		err = t.finish(grant, &out)
		return out, err
	})
}

func (t *tx) submit(sub *backend.Submission) (backend.Outcome, error) {
	sh := t.s.shards[backend.ShardOf(sub.ID, len(t.s.shards))]
	t.touch(sh)
	if _, ok := t.s.instances[sub.ID]; ok {
		return backend.Outcome{Answer: backend.Duplicate}, nil
	}
	return t.outcome(t.savepoint(), t.start(sub, sh))
}

func (t *tx) start(sub *backend.Submission, sh *shard) error {
	if sub.Program == nil {
		return fmt.Errorf("instance %s has no program", sub.ID)
	}
	core := t.b.core(sub.Program)
	p, err := core.Start(bytes.Clone(sub.Input))
	if err != nil {
		return err
	}
	inst := &instance{shard: sh, program: sub.Program, status: backend.Running}
	inst.ID, inst.Core, inst.Owner, inst.HeadStart = sub.ID, core, inst, int64(backend.HeadStart(sub.Program))
	t.s.instances[sub.ID] = inst
	t.Undone(func() { delete(t.s.instances, inst.ID) })
	if err := t.at(pointInstance); err != nil {
		return err
	}
	t.Begin(&inst.Instance)
	return t.apply(inst, p)
}

func (t *tx) finish(grant backend.Grant, out *backend.Committed) error {
	var err error
	out.Tasks, err = t.grant(&grant)
	out.Ended = t.ended
	return err
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opClaim, err)
	}
	return b.run(ctx, opClaim, func(t *tx) (backend.Committed, error) {
		var out backend.Committed
		sh := t.s.shards[shard]
		t.touch(sh)
		sh.promote(t.Now)
		for len(out.Tasks) < grant.Max && len(sh.ready) > 0 && sh.ready[0].Rank() <= t.Now-int64(grant.HeadStart()) {
			r, since := sh.ready[0].Run, t.s.wall(sh.ready[0].Rank())
			task, err := t.lease(r, &grant)
			if err != nil {
				return out, err
			}
			task.Since = since
			r.Move(nil)
			t.claimed = append(t.claimed, r)
			out.Tasks = append(out.Tasks, task)
		}
		return out, nil
	})
}

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, fmt.Errorf("memory: %s: %w", opComplete, err)
	}
	return b.run(ctx, opComplete, func(t *tx) (out backend.Committed, err error) {
		sh := t.s.shards[shard]
		t.touch(sh)
		out.Outcomes = make([]backend.Outcome, len(completions))
		for i := range completions {
			if out.Outcomes[i], err = t.complete(sh, &completions[i]); err != nil {
				return out, err
			}
		}
		err = t.finish(grant, &out)
		return out, err
	})
}

func (t *tx) complete(sh *shard, c *backend.Completion) (backend.Outcome, error) {
	r := t.s.heldRun(sh, &c.Lease)
	if r == nil {
		return backend.Outcome{Answer: backend.Stale}, nil
	}
	return t.outcome(t.savepoint(), t.advance(r, c))
}

func (t *tx) advance(r *state.Run, c *backend.Completion) error {
	inst := instanceOf(r)
	switch {
	case c.Program == nil:
		return fmt.Errorf("the completion of node %d of instance %s has no program", r.Key.Node, inst.ID)
	case c.Program != inst.program && c.Program.Hash() != inst.program.Hash():
		return fmt.Errorf("instance %s runs another program than the one it is completed with", inst.ID)
	case c.Attempt != int(r.Attempt):
		return fmt.Errorf("node %d of instance %s: attempt %d is completed as attempt %d", r.Key.Node, inst.ID, r.Attempt, c.Attempt)
	}
	before := t.Savepoint()
	t.Done(r)
	if err := t.at(pointGuard); err != nil {
		return err
	}
	ev := plan.Event{Run: r.Key, Attempt: c.Attempt, Result: bytes.Clone(c.Result), Failure: cloneFailure(c.Failure)}
	p, err := t.Step(&inst.Instance, ev, t.b.jitter())
	if err != nil {
		return err
	}
	if p.Retry != nil {
		t.Rollback(before)
		t.Retry(r, p.Retry.After)
		return t.at(pointRetry)
	}
	return t.apply(inst, p)
}

// Renew implements backend.Backend.
func (b *Backend) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	err := b.check(shard, grant)
	if err == nil {
		err = grant.CheckRenewal()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", opRenew, err)
	}
	kept := make([]bool, len(leases))
	_, err = b.run(ctx, opRenew, func(t *tx) (backend.Committed, error) {
		for i := range leases {
			r := t.s.heldRun(t.s.shards[shard], &leases[i])
			if r == nil {
				continue
			}
			next := r.RunState
			switch {
			case grant.Lease > 0:
				next.Place, next.Due = state.Leased, t.Now+int64(grant.Lease)
			case grant.Pause > 0:
				next = state.RunState{Place: state.Waiting, Attempt: r.Attempt, Counted: r.Counted - 1, Due: t.Now + int64(grant.Pause)}
			default:
				next = state.RunState{Place: state.Ready, Attempt: r.Attempt, Counted: r.Counted - 1, Due: t.Now - int64(handedOutFirst)}
			}
			t.Set(r, next)
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

// handedOutFirst dates back a returned run, so that it comes first: it had its turn.
const handedOutFirst = 100 * 365 * 24 * time.Hour

// Sweep does nothing: the end of an instance removes everything it held.
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

// Cancel implements backend.Canceler.
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

// Lookup implements backend.Backend.
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

func (s *store) heldRun(sh *shard, l *backend.Lease) *state.Run {
	inst, ok := s.instances[l.Key.Instance]
	if !ok || inst.shard != sh {
		return nil
	}
	r, ok := inst.Runs.Get(state.OfRun(l.Key.Run))
	if !ok || r.Token == 0 || r.Token != l.Token {
		return nil
	}
	return r
}
