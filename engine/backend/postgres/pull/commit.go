package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

const (
	// commitTries bounds how often one call commits again, after deadlocks and unknown outcomes.
	commitTries = 5
	// settleTimeout bounds finding out what became of a commit, when the caller's context has ended.
	settleTimeout = 10 * time.Second
)

// commit writes events in as few transactions as their data allows: a batch with a member at fault is
// halved until the member stands alone and is refused.
func (b *Backend) commit(ctx context.Context, shard int, events []*event, outcomes []backend.Outcome) error {
	if len(events) == 0 {
		return nil
	}
	err := b.commitOnce(ctx, shard, events, outcomes)
	switch {
	case err == nil:
		return nil
	case !postgres.Poisoned(err):
		return err
	case len(events) == 1:
		outcomes[events[0].ord] = backend.Outcome{Answer: backend.Refused, Err: fmt.Errorf("instance %s: %w", events[0].lease.Key.Instance, postgres.Explain(err))}
		return nil
	}
	half := len(events) / 2
	if err := b.commit(ctx, shard, events[:half], outcomes); err != nil {
		return err
	}
	if err := b.commit(ctx, shard, events[half:], outcomes); err != nil {
		again(events[half:], err, outcomes)
	}
	return nil
}

// commitOnce writes events in one statement, again where the server gave it up for another, where rows
// were being changed, and where the outcome had to be settled first.
func (b *Backend) commitOnce(ctx context.Context, shard int, events []*event, outcomes []backend.Outcome) error {
	for try := 1; len(events) > 0; try++ {
		moved, err := b.write(ctx, shard, events, outcomes)
		switch {
		case err == nil:
			events = moved
			if try == commitTries && len(moved) > 0 {
				again(moved, errors.New("the rows keep being changed by others"), outcomes)
				return nil
			}
		case postgres.Contended(err) && try < commitTries:
		case !postgres.Unconfirmed(err), errors.As(err, new(*unsent)):
			return err
		default:
			open, settled := b.settle(ctx, shard, events, outcomes)
			if settled != nil || try == commitTries && len(open) > 0 {
				return fmt.Errorf("%w: %w", backend.ErrUnknown, errors.Join(err, settled))
			}
			events = open
		}
	}
	return nil
}

// write sends complete.sql, answers, and gives the events whose rows were being changed.
func (b *Backend) write(ctx context.Context, shard int, events []*event, outcomes []backend.Outcome) ([]*event, error) {
	parameters, err := completeParameters(shard, events)
	if err != nil {
		return nil, err
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, &unsent{err}
	}
	defer conn.Release()
	var applied map[int32]bool // whether what was found could be changed
	complete := func(q querier) error {
		applied = map[int32]bool{}
		rows, err := q.Query(ctx, completeSQL, parameters...)
		if err != nil {
			return err
		}
		var ord int32
		var done bool
		_, err = pgx.ForEachRow(rows, []any{&ord, &done}, func() error {
			applied[ord] = done
			return nil
		})
		return err
	}
	off := slices.ContainsFunc(events, func(e *event) bool { return e.off != nil })
	if b.scan == ScanSQL || off {
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			// What calls off others excludes cycles, which may be about to enter what goes.
			if off {
				if _, err := tx.Exec(ctx, lockCycleSQL, shard); err != nil {
					return err
				}
			}
			if err := complete(tx); err != nil {
				return err
			}
			return b.advance(ctx, tx, shard, events, applied)
		})
	} else {
		err = complete(conn)
	}
	if err != nil {
		return nil, err
	}
	var moved []*event
	for _, e := range events {
		switch done, found := applied[e.ord]; {
		case done:
			outcomes[e.ord] = backend.Outcome{Answer: backend.Applied}
		case found:
			moved = append(moved, e)
		default:
			outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
		}
	}
	return moved, nil
}

// completeParameters gives the values of complete.sql.
func completeParameters(shard int, events []*event) ([]any, error) {
	var l postgres.Leases
	var wait []*int64
	var results, failures []*string
	for _, e := range events {
		l.Add(e.ord, backend.Lease{Key: e.lease.Key, Token: e.token})
		var us *int64
		var result, failure *string
		switch {
		case e.retry != nil:
			after := micros(e.retry.After)
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

// unsent is an error before anything was sent.
type unsent struct{ error }

func (u *unsent) Unwrap() error { return u.error }

// advance writes down what follows from the completions that took place: in scan=app only that runs are called
// off.
func (b *Backend) advance(ctx context.Context, tx pgx.Tx, shard int, events []*event, applied map[int32]bool) error {
	var f effects
	for _, e := range events {
		switch {
		case !applied[e.ord] || e.retry != nil:
		case b.scan == ScanSQL:
			if err := f.add(e.program, e.lease.Key.Instance, sourceOf(e.lease.Key.Run), e.plan); err != nil {
				return err
			}
			f.kept = append(f.kept, e.token)
		case e.off != nil:
			f.clear(e.program, e.lease.Key.Instance, *e.off)
		}
	}
	batch := &pgx.Batch{}
	if s := &f.rows; b.scan == ScanApp && len(s.instance) > 0 {
		batch.Queue(callOffSQL, shard, s.instance, s.id, s.first, s.last)
	}
	if b.scan == ScanSQL {
		f.queue(batch, shard)
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

// settle finds out what an unconfirmed commit did; see package push, which does the same.
func (b *Backend) settle(ctx context.Context, shard int, events []*event, outcomes []backend.Outcome) ([]*event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	var l postgres.Leases
	for _, e := range events {
		l.Add(e.ord, backend.Lease{Key: e.lease.Key, Token: e.token})
	}
	fenced, err := b.store.Fence(ctx, heldSQL, fenceSQL, shard, &l)
	if err != nil {
		return nil, err
	}
	applied, err := b.store.Ords(ctx, standingSQL, shard, &l)
	if err != nil {
		return nil, err
	}
	var open []*event
	for _, e := range events {
		token, isOpen := fenced[e.ord]
		switch {
		case isOpen:
			e.token = token
			open = append(open, e)
		case applied[e.ord]:
			outcomes[e.ord] = backend.Outcome{Answer: backend.Applied}
		default:
			outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
		}
	}
	return open, nil
}
