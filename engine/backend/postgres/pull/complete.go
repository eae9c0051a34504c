package pull

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

const (
	// commitTries bounds how often one call commits again, after deadlocks and unknown outcomes.
	commitTries = 5
	// settleTimeout bounds finding out what became of a commit, when the caller's context has ended.
	settleTimeout = 10 * time.Second
)

// event is a completion, judged.
type event struct {
	ord   int32
	lease backend.Lease
	token int64
	ended plan.Event
	retry *plan.Retry
	final bool // it ends its instance: nothing goes on after it

	program *plan.Program
	plan    plan.Plan // of scan=sql, without a retry
	inbox   plan.Inbox
}

// compare orders events as their rows are locked.
func (e *event) compare(o *event) int { return e.lease.Key.Compare(o.lease.Key) }

// Complete implements backend.Backend: the ends of attempts go into the ledger, and a cycle finds what
// follows from them.
func (b *Backend) Complete(ctx context.Context, shard int, completions []backend.Completion, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	out := backend.Committed{Outcomes: make([]backend.Outcome, len(completions))}
	events, err := b.judged(ctx, shard, completions, out.Outcomes)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	if b.scan == ScanSQL {
		if err := b.planAll(ctx, shard, events); err != nil {
			return backend.Committed{}, postgres.Explain(err)
		}
	}
	first, after := untilEnds(events)
	if err := b.commit(ctx, shard, distinct(first, out.Outcomes), out.Outcomes); err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	for _, e := range first {
		if out.Outcomes[e.ord].Answer == backend.Applied && e.retry != nil {
			if due := time.Now().Add(e.retry.After); out.NextDue.IsZero() || due.Before(out.NextDue) {
				out.NextDue = due
			}
		}
	}
	b.follow(ctx, shard, grant, &out)
	if len(after) > 0 {
		if err := b.commit(ctx, shard, distinct(after, out.Outcomes), out.Outcomes); err != nil {
			again(after, err, out.Outcomes)
		}
		b.follow(ctx, shard, grant, &out)
	}
	return out, nil
}

// judged makes events of completions, and answers those that can be none.
func (b *Backend) judged(ctx context.Context, shard int, completions []backend.Completion, outcomes []backend.Outcome) ([]*event, error) {
	var events, unfit []*event
	reasons := map[int32]error{}
	for i, c := range completions {
		e := &event{ord: int32(i), lease: c.Lease, token: c.Lease.Token, program: c.Program}
		if c.Program == nil {
			outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: fmt.Errorf("instance %s: a completion without its program", c.Lease.Key.Instance)}
			continue
		}
		if backend.ShardOf(c.Lease.Key.Instance, b.Shards()) != shard || !postgres.Storable(c.Lease.Key.Run.Path) {
			outcomes[i] = backend.Outcome{Answer: backend.Stale}
			continue
		}
		var err error
		ev := plan.Event{Run: c.Lease.Key.Run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}
		if e.ended, e.retry, err = c.Program.Settle(ev, b.jitter()); err != nil {
			reasons[e.ord] = fmt.Errorf("instance %s, %s: %w", c.Lease.Key.Instance, c.Program.RunName(c.Lease.Key.Run), err)
			unfit = append(unfit, e)
			continue
		}
		e.final = e.ended.Failure != nil && e.retry == nil && !c.Program.Graph().Nodes[c.Lease.Key.Run.Node].Continue
		events = append(events, e)
	}
	if len(unfit) == 0 {
		return events, nil
	}
	var l postgres.Leases
	for _, e := range unfit {
		l.Add(e.ord, e.lease)
	}
	held, err := b.store.Ords(ctx, heldSQL, shard, &l)
	if err != nil {
		return nil, err
	}
	for _, e := range unfit {
		outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
		if held[e.ord] {
			outcomes[e.ord] = backend.Outcome{Answer: backend.Refused, Err: reasons[e.ord]}
		}
	}
	return events, nil
}

// planAll reads what the completions need and plans what follows from them.
func (b *Backend) planAll(ctx context.Context, shard int, events []*event) error {
	var s slots
	byOrd := map[int32]*plan.Inbox{}
	for _, e := range events {
		byOrd[e.ord] = &e.inbox
		s.add(e.ord, e.lease.Key.Instance, e.program.Needs(e.ended).Slots)
	}
	if len(s.ord) > 0 {
		rows, err := b.store.Pool.Query(ctx, readSQL, shard, s.ord, s.instance, s.variable, s.path)
		if err != nil {
			return err
		}
		if err := takeValues(rows, byOrd); err != nil {
			return err
		}
	}
	for _, e := range events {
		if e.retry != nil {
			continue
		}
		ev := e.ended
		ev.Attempt = finalAttempt // whether there is a retry has been decided
		var err error
		if e.plan, err = e.program.Step(ev, e.inbox, 0); err != nil {
			return err
		}
		e.final = e.plan.End != nil
	}
	return nil
}

// untilEnds sets completions apart that come after one which ends their instance: they are committed
// after the cycle that ends it, and then are stale.
func untilEnds(events []*event) (first, after []*event) {
	ends := map[uuid.UUID]bool{}
	for _, e := range events {
		if ends[e.lease.Key.Instance] {
			after = append(after, e)
			continue
		}
		first = append(first, e)
		ends[e.lease.Key.Instance] = e.final
	}
	return first, after
}

// distinct sorts, and leaves one of several completions of the same attempt; the others are stale
// whatever happens to the one.
func distinct(events []*event, outcomes []backend.Outcome) []*event {
	events = slices.Clone(events)
	inOrder(events)
	kept := events[:0]
	for _, e := range events {
		if len(kept) > 0 && kept[len(kept)-1].lease == e.lease {
			outcomes[e.ord] = backend.Outcome{Answer: backend.Stale}
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func again(events []*event, err error, outcomes []backend.Outcome) {
	for _, e := range events {
		if outcomes[e.ord].Answer == "" {
			outcomes[e.ord] = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
		}
	}
}

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
	if b.scan == ScanSQL {
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
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

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// unsent is an error before anything was sent.
type unsent struct{ error }

func (u *unsent) Unwrap() error { return u.error }

// advance writes down what follows from the completions that took place.
func (b *Backend) advance(ctx context.Context, tx pgx.Tx, shard int, events []*event, applied map[int32]bool) error {
	var f effects
	for _, e := range events {
		if !applied[e.ord] || e.retry != nil {
			continue
		}
		if err := f.add(e.program, e.lease.Key.Instance, sourceOf(e.lease.Key.Run), e.plan, e.inbox); err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	f.queue(batch, shard)
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
