package eager

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Complete implements backend.Backend.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out := pgstore.NewOutcomes(len(completions))
	events, err := b.completed(ctx, shard, completions, out)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	slices.SortStableFunc(events, func(a, b *commitEvent) int {
		return cmp.Or(a.key().Compare(b.key()), cmp.Compare(a.completion.Lease.Token, b.completion.Lease.Token))
	})
	events = pgstore.Distinct(out, events, func(e *commitEvent) backend.Lease { return e.completion.Lease })
	if err := b.commitBatch(ctx, shard, events, grant, out); err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	return out.Committed(), nil
}

func (b *Backend) completed(ctx context.Context, shard int, completions []backend.Completion, out *pgstore.Outcomes) ([]*commitEvent, error) {
	var events []*commitEvent
	for i := range completions {
		c := &completions[i]
		if !out.Accept(i, c, shard, b.Shards()) {
			continue
		}
		number, err := b.store.Number(ctx, c.Program)
		if err != nil {
			return nil, err
		}
		run := c.Lease.Key.Run
		e := &commitEvent{ord: int32(i), instance: c.Lease.Key.Instance, program: c.Program, shape: b.shape(c.Program), workflow: number, completion: c}
		e.coreEvent = plan.Event{Run: run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		e.place = e.shape.run(run)
		events = append(events, e)
	}
	return events, nil
}

func (c *commit) add(out *pgstore.Outcomes, events []*commitEvent) {
	for _, e := range events {
		out.Conclude(e.ord, c.live[e], e.submission != nil)
	}
	out.Add(&c.result)
}

// commitBatch applies events in as few transactions as their data allows; see pgstore.Halve.
func (b *Backend) commitBatch(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) error {
	return pgstore.Halve(out, events, func(events []*commitEvent) error {
		c, err := b.commitOnce(ctx, shard, events, grant, out)
		if len(events) == 1 && pgstore.Unfit(err) {
			// The instance may have ended, and its values may have been swept: the guard sees that now.
			c, err = b.commitOnce(ctx, shard, events, grant, out)
		}
		if err != nil {
			return err
		}
		c.add(out, events)
		b.cleanUpAfter(c)
		return nil
	})
}

func (b *Backend) commitOnce(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) (c *commit, err error) {
	grant.Max = max(grant.Max-len(out.Result.Tasks), 0)
	met := &lockSet{barriers: map[rowKey]bool{}}
	err = b.store.Commit(ctx, pgstore.Transaction{
		Purpose: fmt.Sprintf("committing on shard %d", shard),
		Run: func() (err error) {
			if c, err = b.applyEvents(ctx, shard, events, grant, met); errors.Is(err, errGates) {
				err = pgstore.Retryable(err)
			}
			return err
		},
		ID:      func() (life, xid string) { return c.serverIncarnation, c.xid },
		Release: func() { b.release(ctx, c) },
	})
	return c, err
}

// release returns the leases of a transaction whose reply was lost: the caller may not know all.
func (b *Backend) release(ctx context.Context, c *commit) {
	var ids [][16]byte
	for e := range c.live {
		ids = append(ids, e.instance)
	}
	slices.SortFunc(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	b.store.Release(ctx, runs, c.shard, slices.Compact(ids), c.xid)
	c.result.Tasks, c.result.More = nil, true
}
