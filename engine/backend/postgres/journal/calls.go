package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/internal/pgstore"
)

// errForeign means that another engine owns the shard.
var errForeign = forward.ErrForeign

// foreign is errForeign with the shard's view that was read.
type foreign struct{ ownership.ShardView }

// Error implements error.
func (foreign) Error() string { return errForeign.Error() }

// Is implements what errors.Is asks for.
func (foreign) Is(target error) bool { return target == errForeign }

func seen(err error) *ownership.ShardView {
	if f := (foreign{}); errors.As(err, &f) {
		return &f.ShardView
	}
	return nil
}

const (
	// workHeardFor is how long after a notification of work claims are forwarded to all owners.
	workHeardFor = 500 * time.Millisecond
	// forwardClaimPause is the pause between two forwarded claims without such a notification.
	forwardClaimPause = time.Second
)

// ownerTries bounds the changes of owner during one call.
const ownerTries = 20

// acquirePolicy tells whether a call takes a free shard.
type acquirePolicy int

const (
	acquireNever acquirePolicy = iota
	acquireFair                // if it is within this engine's share
	acquireLate                // like acquireFair, or if nobody takes it within yieldFor
	acquireAny
)

// locally makes a call on a shard's memory, if this engine owns the shard or the policy lets it take it.
func (b *Backend) locally(ctx context.Context, shard int, take acquirePolicy, call func(*shardState) error) error {
	sh := b.shards[shard]
	if err := sh.lock(ctx); err != nil {
		return err
	}
	defer sh.unlock()
	own := sh.owned
	switch {
	case sh.epoch.Load() != 0 && take != acquireNever, take == acquireAny:
		own = sh.acquireShard
	case take != acquireNever && b.reserve(sh):
		defer b.unreserve(sh)
		own = sh.acquireShard
	}
	ok, err := own(ctx)
	switch {
	case err != nil:
		return err
	case !ok:
		return errForeign
	}
	if err := call(sh); !errors.Is(err, errLost) {
		return err
	}
	return errForeign
}

// anywhere makes a call where the shard's owner is: here, or by ask, which receives the view of the shard if one was read, or
// nil.
func (b *Backend) anywhere(ctx context.Context, shard int, take acquirePolicy, call func(*shardState) error, ask func(*ownership.ShardView) error) error {
	var err error
	began := b.now()
	for range ownerTries {
		if take == acquireLate && b.now()-began > int64(yieldFor) {
			take = acquireAny
		}
		if err = b.locally(ctx, shard, take, call); !errors.Is(err, errForeign) {
			return err
		}
		if err = ask(seen(err)); !errors.Is(err, errForeign) {
			return err
		}
		if take == acquireLate && !b.pause(ctx, yieldPause) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("shard %d changes hands again and again: %w", shard, err)
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (out backend.Committed, err error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return out, err
	}
	b.claimed.Store(b.now())
	b.startBackground()
	err = b.anywhere(ctx, shard, acquireFair,
		func(sh *shardState) error { return sh.claimTo(ctx, grant, &out) },
		func(s *ownership.ShardView) error {
			if s, err = b.shards[shard].unlessSeen(ctx, s); err != nil || b.owners.Free(*s) {
				return err // within another engine's share, which will find it
			}
			if !b.forwardsClaim(b.shards[shard]) {
				return nil
			}
			return b.forwardCommitted(ctx, shard, forward.Request{Op: forward.Claim, Grant: grant}, s, &out)
		})
	return out, postgres.Explain(err)
}

// forwardsClaim reports whether to forward a claim to the shard's owner, whose own engine usually takes its work. It does if this
// engine owns no shard, after a notification of work, and otherwise now and then.
func (b *Backend) forwardsClaim(sh *shardState) bool {
	now := b.now()
	if heard := b.workHeardAt.Load(); len(b.ownedShards()) > 0 && (heard == 0 || now-heard > int64(workHeardFor)) && now-sh.lastForwarded.Load() < int64(forwardClaimPause) {
		return false
	}
	sh.lastForwarded.Store(now)
	return true
}

// claimTo leases what is ready; if nothing is, it adopts what other engines stored.
func (sh *shardState) claimTo(ctx context.Context, grant backend.Grant, out *backend.Committed) error {
	sh.promote(sh.b.now())
	if err := sh.reloadDue(ctx, sh.b.now()); err != nil {
		return err
	}
	if sh.promote(sh.b.now()); sh.ready.Peek() == nil {
		if _, err := sh.adopt(ctx); err != nil {
			return err
		}
	}
	if err := sh.noteNext(ctx, grant.Max); err != nil {
		return err
	}
	now, grant, err := sh.cover(ctx, grant)
	if err != nil {
		return err
	}
	tasks, err := sh.claim(now, grant)
	*out = backend.Committed{Tasks: tasks}
	sh.outlook(now, out)
	return err
}

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (out backend.Committed, err error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return out, err
	}
	if len(completions) == 0 {
		return out, nil
	}
	err = b.anywhere(ctx, shard, acquireLate,
		func(sh *shardState) error { return sh.complete(ctx, completions, grant, &out) },
		func(s *ownership.ShardView) error {
			req := forward.Request{Op: forward.Complete, Grant: grant}
			if req.Completions, err = b.desk.Send(ctx, completions); err != nil {
				return err
			}
			return b.forwardCommitted(ctx, shard, req, s, &out)
		})
	return out, postgres.Explain(err)
}

// complete applies completions and appends their events. If the server refuses the data, it halves the batch until the member at
// fault is alone.
func (sh *shardState) complete(ctx context.Context, completions []backend.Completion, grant backend.Grant, out *backend.Committed) error {
	*out = backend.Committed{Outcomes: make([]backend.Outcome, len(completions))}
	t := sh.begin()
	for i := range completions {
		c := &completions[i]
		r := sh.heldRun(c.Lease)
		if r == nil {
			out.Outcomes[i].Answer = backend.Stale
			continue
		}
		sp := t.savepoint()
		if err := t.advance(r, c); err != nil {
			t.rollback(sp)
			out.Outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: err}
			continue
		}
		out.Outcomes[i].Answer = backend.Applied
	}
	sh.inFlight.noteApplied(t)
	err := sh.finish(ctx, t, grant, out)
	if err == nil || !pgstore.Poisoned(err) {
		return err
	}
	if len(completions) == 1 {
		out.Outcomes[0] = backend.Outcome{Answer: backend.Refused, Err: postgres.Explain(err)}
		return nil
	}
	return sh.completeHalves(ctx, completions, grant, out)
}

// completeHalves completes a batch in two parts. If only the first is applied, the members of the second are answered Again.
func (sh *shardState) completeHalves(ctx context.Context, completions []backend.Completion, grant backend.Grant, out *backend.Committed) error {
	half := len(completions) / 2
	var first, second backend.Committed
	if err := sh.complete(ctx, completions[:half], grant, &first); err != nil {
		return err
	}
	grant.Max -= len(first.Tasks)
	if err := sh.complete(ctx, completions[half:], grant, &second); err != nil {
		second = backend.Committed{Outcomes: make([]backend.Outcome, len(completions)-half)}
		for i := range second.Outcomes {
			second.Outcomes[i] = backend.Outcome{Answer: backend.Again, Err: err}
		}
	}
	*out = backend.Committed{
		Outcomes: append(first.Outcomes, second.Outcomes...),
		Tasks:    append(first.Tasks, second.Tasks...),
		Ended:    append(first.Ended, second.Ended...),
	}
	if sh.epoch.Load() != 0 {
		sh.outlook(sh.b.now(), out)
	}
	return nil
}

func (sh *shardState) finish(ctx context.Context, t *tx, grant backend.Grant, out *backend.Committed) error {
	if len(t.events)+len(t.ends)+len(t.created) == 0 {
		sh.outlook(t.Now, out)
		return nil
	}
	done, err := sh.append(ctx, t)
	if err != nil {
		return err
	}
	for _, e := range t.ends {
		out.Ended = append(out.Ended, e.public)
	}
	if done.lost {
		return nil // the next owner reads it all
	}
	now, grant, _ := sh.cover(ctx, grant)
	t.Now = now // leases begin when they are granted
	if out.Tasks, err = t.commit(grant); err != nil {
		return err
	}
	sh.outlook(now, out)
	return nil
}

// Renew implements backend.Backend.
func (b *Backend) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	if err := b.check(ctx, shard, grant); err != nil {
		return nil, err
	}
	if err := grant.CheckRenewal(); err != nil {
		return nil, fmt.Errorf("journal: renew: %w", err)
	}
	kept := make([]bool, len(leases))
	if len(leases) == 0 {
		return kept, nil
	}
	err := b.anywhere(ctx, shard, acquireLate,
		func(sh *shardState) error {
			return sh.renewLeases(ctx, leases, grant, kept)
		},
		func(s *ownership.ShardView) error {
			answer, err := b.forward(ctx, shard, forward.Request{Op: forward.Renew, Grant: grant, Leases: leases}, s)
			copy(kept, answer.Held)
			return err
		})
	return kept, postgres.Explain(err)
}

func (sh *shardState) renewLeases(ctx context.Context, leases []backend.Lease, grant backend.Grant, kept []bool) error {
	if grant.Lease == 0 {
		return sh.returnLeases(ctx, leases, grant.Pause, kept)
	}
	grant.Max = 1
	now, grant, err := sh.cover(ctx, grant)
	switch {
	case err != nil:
		return err
	case grant.Max == 0:
		return fmt.Errorf("journal: renew: shard %d could not be renewed in time; renew again", sh.number)
	}
	until := now + int64(grant.Lease)
	for i, l := range leases {
		r := sh.heldRun(l)
		if kept[i] = r != nil; r == nil {
			continue
		}
		r.Place, r.Due = state.Leased, until
		sh.file(r)
	}
	return nil
}

// MakeDue implements backend.Signaler.
func (b *Backend) MakeDue(ctx context.Context, shard int, keys []backend.Key) ([]bool, error) {
	if err := b.check(ctx, shard, backend.Grant{}); err != nil {
		return nil, err
	}
	open := make([]bool, len(keys))
	err := b.anywhere(ctx, shard, acquireLate,
		func(sh *shardState) error {
			sh.makeDue(keys, open)
			return nil
		},
		func(s *ownership.ShardView) error {
			answer, err := b.forward(ctx, shard, forward.Request{Op: forward.MakeDue, Keys: keys}, s)
			copy(open, answer.Held)
			return err
		})
	return open, postgres.Explain(err)
}

// makeDue makes node runs due that wait, and notes which may be open: of an evicted instance, each may.
func (sh *shardState) makeDue(keys []backend.Key, open []bool) {
	now := sh.b.now()
	for i, key := range keys {
		if p := sh.evicted.by[key.Instance]; p != nil {
			open[i] = true
			sh.makeEvictedDue(p, key.Run)
			continue
		}
		inst := sh.instances[key.Instance]
		if inst == nil {
			open[i] = sh.broken[key.Instance] != nil
			continue
		}
		r, ok := inst.Runs.Get(state.OfRun(key.Run))
		if open[i] = ok; ok && r.Place == state.Waiting && r.Due > now {
			r.Due = now
			sh.file(r)
		}
	}
}

// Sweep implements backend.Backend.
func (b *Backend) Sweep(ctx context.Context, shard int) (swept backend.Swept, err error) {
	if err := b.check(ctx, shard, backend.Grant{}); err != nil {
		return swept, err
	}
	err = b.anywhere(ctx, shard, acquireFair,
		func(sh *shardState) error {
			swept, err = sh.sweep(ctx)
			return err
		},
		func(s *ownership.ShardView) error {
			if s, err = b.shards[shard].unlessSeen(ctx, s); err != nil || b.owners.Free(*s) {
				return err
			}
			answer, err := b.forward(ctx, shard, forward.Request{Op: forward.Sweep}, s)
			swept = answer.Swept
			return err
		})
	return swept, postgres.Explain(err)
}
