package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// resolveTimeout bounds resolving a commit, also after the caller's context has ended.
const resolveTimeout = 10 * time.Second

func (e *commitEvent) coreEvent() plan.Event {
	c := e.completion
	if c == nil {
		return plan.Event{Run: e.continuation, Fired: true}
	}
	return plan.Event{Run: c.Lease.Key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
}

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out := pgstore.NewOutcomes(len(completions))
	events := b.completed(shard, completions, out)
	if err := b.read(ctx, shard, events); err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	var planned, unfit []*commitEvent
	for _, e := range events {
		if e.plan, e.refused = e.program.Step(e.coreEvent(), e.inbox, b.store.Jitter()); e.refused != nil {
			unfit = append(unfit, e)
		} else {
			planned = append(planned, e)
		}
	}
	if err := b.refuse(ctx, shard, unfit, out); err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	for i, group := range groups(planned) {
		inOrder(group)
		group = pgstore.Distinct(out, group, func(e *commitEvent) backend.Lease { return e.completion.Lease })
		if i > 0 {
			group = spared(group, planned, out)
		}
		err := b.commitBatch(ctx, shard, group, grant, out)
		if err != nil && i == 0 {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			pgstore.Again(out, group, err)
		}
	}
	return out.Committed(), nil
}

func (b *Backend) completed(shard int, completions []backend.Completion, out *pgstore.Outcomes) []*commitEvent {
	events := make([]*commitEvent, 0, len(completions))
	for i := range completions {
		if c := &completions[i]; out.Accept(i, c, shard, b.Shards()) {
			events = append(events, &commitEvent{ord: int32(i), instance: c.Lease.Key.Instance, program: c.Program, completion: c, token: c.Lease.Token})
		}
	}
	return events
}

// refuse answers completions that the core would not plan: with its error, or Stale without a lease.
func (b *Backend) refuse(ctx context.Context, shard int, unfit []*commitEvent, out *pgstore.Outcomes) error {
	if len(unfit) == 0 {
		return nil
	}
	var l pgstore.Leases
	for _, e := range unfit {
		l.Add(e.ord, e.completion.Lease)
	}
	held, err := b.store.HeldLeases(ctx, queue, shard, &l)
	if err != nil {
		return err
	}
	for _, e := range unfit {
		out.Answer(e.ord, backend.Stale)
		if held[e.ord] {
			out.Refuse(e.ord, refusedError(e.program, e.completion.Lease.Key, e.refused))
		}
	}
	return nil
}

func (c *commit) add(out *pgstore.Outcomes, events []*commitEvent) {
	for _, e := range events {
		out.Conclude(e.ord, !c.stale[e.ord], e.submission != nil)
	}
	var ended map[[16]byte]bool
	for _, e := range c.ended {
		c.result.Ended = append(c.result.Ended, pgstore.EndedInstance(e.instance, e.plan.End))
		if ended == nil {
			ended = map[[16]byte]bool{}
		}
		ended[e.instance] = true
	}
	if ended != nil {
		c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool { return ended[t.Lease.Key.Instance] })
	}
	out.Add(&c.result)
}

// commitBatch applies events in as few transactions as their data allows; see pgstore.Halve.
func (b *Backend) commitBatch(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) error {
	return pgstore.Halve(out, events, func(events []*commitEvent) error {
		events = unanswered(events, out)
		if len(events) == 0 {
			return nil
		}
		moved, err := b.commitUncontended(ctx, shard, events, grant, out)
		if err == nil && len(moved) > 0 {
			b.commitRetries(ctx, shard, moved, grant, out)
		}
		return err
	})
}

// commitUncontended applies events, and returns those whose rows another transaction, such as a lease renewal, was changing.
func (b *Backend) commitUncontended(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) (moved []*commitEvent, err error) {
	c, open, err := b.commitOnce(ctx, shard, events, grant, out)
	if err != nil || c == nil {
		return nil, err
	}
	c.add(out, open)
	b.cleanUpAfter(c)
	for _, e := range open {
		if c.retry[e.ord] {
			moved = append(moved, e)
			out.Answer(e.ord, "")
		}
	}
	return moved, nil
}

// commitRetries commits those whose rows were being changed. If that continues, it answers them Again.
func (b *Backend) commitRetries(ctx context.Context, shard int, moved []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) {
	doing := fmt.Sprintf("committing on shard %d what others were changing", shard)
	err := b.store.Retry(ctx, doing, pgstore.LockRemedy, func() error {
		err := pgstore.Halve(out, unanswered(moved, out), func(events []*commitEvent) error {
			events = unanswered(events, out)
			if len(events) == 0 {
				return nil
			}
			_, err := b.commitUncontended(ctx, shard, events, grant, out)
			return err
		})
		if n := len(unanswered(moved, out)); err == nil && n > 0 {
			err = pgstore.Retryable(fmt.Errorf("the rows of %d completions were being changed", n))
		}
		return err
	})
	if err != nil {
		pgstore.Again(out, moved, err)
	}
}

// unanswered returns the events without an answer. Those resolved after a lost commit have one, and must not be committed again.
func unanswered(events []*commitEvent, out *pgstore.Outcomes) []*commitEvent {
	answered := func(e *commitEvent) bool { return out.Answers[e.ord].Answer != "" }
	if !slices.ContainsFunc(events, answered) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), answered)
}

// commitOnce applies events in one transaction, retries it after contention, and resolves an unconfirmed commit. It returns the
// last commit and its events, or nil if all were resolved and so answered.
func (b *Backend) commitOnce(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) (c *commit, of []*commitEvent, err error) {
	grant.Max = max(grant.Max-len(out.Result.Tasks), 0)
	slot, resolved := b.slots.acquire(shard), true
	defer func() {
		if resolved {
			b.slots.release(shard, slot)
		}
	}()
	var locks lockSet
	lost := 0
	err = b.store.Retry(ctx, fmt.Sprintf("committing on shard %d", shard), pgstore.LockRemedy, func() (err error) {
		m, begun := b.slots.next(slot), b.store.Clock.Now()
		c, err = b.applyEvents(ctx, shard, events, grant, locks, m)
		switch {
		case err == nil:
			return nil
		case pgstore.Contended(err) || errors.Is(err, errCancelLocks):
			if c != nil {
				locks = c.nextLocks()
			}
			return pgstore.Retryable(err)
		case !backend.IsUnknown(err):
			resolved = hasEnded(c, err)
			return err
		}
		if lost++; events[0].submission != nil {
			if lost == pgstore.CommitsMax {
				return err
			}
			return pgstore.Retryable(err) // the id decides, so submitting again is right
		}
		open, unclear := b.resolveCommit(ctx, shard, events, m, begun, out)
		if unclear != nil || lost == pgstore.CommitsMax && len(open) > 0 {
			resolved = unclear == nil
			return errors.Join(err, unclear)
		}
		if events, c = open, nil; len(open) > 0 {
			return pgstore.Retryable(err)
		}
		return nil
	})
	if err != nil && lost > 0 && !backend.IsUnknown(err) && !pgstore.Poisoned(err) {
		// An earlier try may have been applied, or changed tokens that the caller knows.
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return c, events, nil
}

// hasEnded reports whether a transaction that failed before COMMIT has ended, or never began. An abandoned transaction may still
// acquire locks; reusing its commit slot could deadlock.
func hasEnded(c *commit, err error) bool {
	return c == nil || errors.Is(err, errCancelLocks) || !pgstore.Abandoned(err)
}

// resolveCommit resolves an unconfirmed commit. Completions still open get a new token, so that the lost commit can no longer
// apply them, and are returned. The others were applied if the commit slot has this commit and does not call them stale. If the
// commit began so long ago that its slot may have been deleted, they are answered Again with errForgotten, else Stale.
func (b *Backend) resolveCommit(ctx context.Context, shard int, events []*commitEvent, m commitSlot, begun time.Time, out *pgstore.Outcomes) ([]*commitEvent, error) {
	ctx, cancel := b.store.Clock.Within(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	var l pgstore.Leases
	for _, e := range events {
		l.Add(e.ord, backend.Lease{Key: e.completion.Lease.Key, Token: e.token})
	}
	fenced, err := b.store.Fence(ctx, queue, fenceSQL, shard, &l)
	if err != nil {
		return nil, err
	}
	stale, took, err := b.stale(ctx, shard, m)
	if err != nil {
		return nil, err
	}
	var open, unclear []*commitEvent
	forgotten := !took && b.store.Clock.Now().Sub(begun) > b.slots.retention/2
	for _, e := range events {
		token, isOpen := fenced[e.ord]
		switch {
		case isOpen:
			e.token = token
			open = append(open, e)
		case took && !stale[e.ord]:
			out.Answer(e.ord, backend.Applied)
		case forgotten:
			unclear = append(unclear, e)
		default:
			out.Answer(e.ord, backend.Stale)
		}
	}
	pgstore.Again(out, unclear, errForgotten)
	out.Result.More = true
	return open, nil
}

var errForgotten = fmt.Errorf("%w: it was asked for so late that its mark may be forgotten", backend.ErrUnknown)
