package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

func (b *Backend) commitBatch(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) error {
	return pgstore.Halve(out, events, func(events []*commitEvent) error { return b.commitOnce(ctx, shard, events, grant, out) })
}

// commitOnce writes events and scans in one transaction, and retries events whose rows were being changed.
func (b *Backend) commitOnce(ctx context.Context, shard int, events []*commitEvent, grant backend.Grant, out *pgstore.Outcomes) error {
	committed := false
	err := b.store.Retry(ctx, fmt.Sprintf("committing on shard %d what others were changing", shard), pgstore.LockRemedy, func() error {
		c, err := b.attempt(ctx, shard, func(known *reading) *scanTx {
			c := b.newScanTx(shard, grant, out, known)
			c.events, c.ids = events, instancesOf(events)
			return c
		})
		if err != nil {
			return err
		}
		committed, events = true, c.answer(out)
		b.addResult(ctx, c, grant, out)
		if len(events) > 0 {
			return pgstore.Retryable(fmt.Errorf("the rows of %d completions were being changed", len(events)))
		}
		return nil
	})
	if err != nil && committed {
		pgstore.Again(out, events, err)
		return nil
	}
	return err
}

func instancesOf(events []*commitEvent) [][16]byte {
	var out [][16]byte
	for _, e := range events {
		if id := e.lease.Key.Instance; len(out) == 0 || out[len(out)-1] != id {
			out = append(out, id)
		}
	}
	return out
}

func (c *scanTx) answer(out *pgstore.Outcomes) []*commitEvent {
	var moved []*commitEvent
	for _, e := range c.events {
		if done, found := c.applied[e.ord]; found && !done {
			moved = append(moved, e)
		} else {
			out.Conclude(e.ord, done && !c.ignored[e.ord], false)
		}
	}
	return moved
}

func (c *scanTx) queueComplete(batch *pgx.Batch) error {
	parameters, err := completeParameters(c.shard, c.events)
	if err != nil {
		return err
	}
	c.applied = map[int32]bool{}
	batch.Queue(completeSQL, parameters...).Query(func(rows pgx.Rows) error {
		var ord int32
		var done bool
		_, err := pgx.ForEachRow(rows, []any{&ord, &done}, func() error {
			c.applied[ord] = done
			return nil
		})
		return err
	})
	return nil
}

func completeParameters(shard int, events []*commitEvent) ([]any, error) {
	var l pgstore.Leases
	var wait []*int64
	var results, failures []*string
	for _, e := range events {
		l.Add(e.ord, e.lease)
		var us *int64
		var result, failure *string
		switch {
		case e.retry != nil:
			after := e.retry.After.Microseconds()
			us = &after
		case e.ended.Failure != nil:
			data, err := json.Marshal(e.ended.Failure)
			if err != nil {
				return nil, err
			}
			text := string(data)
			failure = &text
		default:
			text := string(e.ended.Result)
			result = &text
		}
		wait, results, failures = append(wait, us), append(results, result), append(failures, failure)
	}
	return append(l.Parameters(shard), wait, results, failures), nil
}

func (c *scanTx) mayCancel() bool {
	return slices.ContainsFunc(c.events, func(e *commitEvent) bool { return e.cancels != nil })
}

// advance writes the effects of what is committed. In scan=app that is only the cancelling of runs.
func (c *scanTx) advance(ctx context.Context) error {
	var f effects
	if c.submitted != nil && c.b.scan == ScanSQL {
		if err := c.start(&f); err != nil {
			return err
		}
	}
	for _, e := range c.events {
		switch {
		case !c.applied[e.ord] || e.retry != nil:
		case c.b.scan == ScanSQL:
			if err := f.add(e.program, e.lease.Key.Instance, sourceOf(e.lease.Key.Run), e.plan); err != nil {
				return err
			}
		case e.cancels != nil:
			f.clear(e.program, e.lease.Key.Instance, *e.cancels)
		}
	}
	batch := &pgx.Batch{}
	if s := &f.rows; c.b.scan == ScanApp && len(s.instance) > 0 {
		s.lock(batch, c.shard)
		batch.Queue(cancelRunsSQL, c.shard, s.instance, s.id, s.first, s.last)
	}
	if c.b.scan == ScanSQL {
		f.queue(batch, c.shard)
	}
	if batch.Len() == 0 {
		return nil
	}
	return c.conn.SendBatch(ctx, batch).Close()
}
