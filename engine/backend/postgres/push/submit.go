package push

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

// Submit implements backend.Backend. It commits shard by shard.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	return b.store.Submit(ctx, subs, grant, func(shard int, started []pgstore.Started, out *pgstore.Outcomes) error {
		return b.commitBatch(ctx, shard, eventsOf(started), grant, out)
	})
}

func eventsOf(started []pgstore.Started) []*commitEvent {
	events := make([]*commitEvent, len(started))
	for i, s := range started {
		events[i] = &commitEvent{ord: s.Place, instance: s.Submission.ID, program: s.Submission.Program, workflow: s.Workflow, submission: s.Submission, plan: s.Plan}
	}
	return events
}

// SubmitTx stores new instances within a transaction of the caller's, in the store's database: they are there once it commits, and
// never if it is rolled back. Engines are notified by its commit. Like Submit, it answers an id that exists Duplicate, and an input
// that the program refuses Refused; if another transaction is submitting the id, it waits for that. What a limit of instances has no
// place for, it answers Full: places are given apart, so those of a transaction that is rolled back, or that takes more than a minute,
// are free again a minute later. After an error nothing of the call is left, and the transaction can continue. Definitions of programs
// are stored apart, and stay.
//
// The transaction must be of pgx, and not of the simple protocol. It sees the caller's settings again after the call.
func (b *Backend) SubmitTx(ctx context.Context, tx pgx.Tx, subs []backend.Submission) ([]backend.Outcome, error) {
	out, err := backend.SubmitAdmitted(ctx, b, subs, func(admitted []backend.Submission) (out backend.Committed, err error) {
		out.Outcomes, err = b.submitTx(ctx, tx, admitted)
		return out, err
	})
	return out.Outcomes, err
}

func (b *Backend) submitTx(ctx context.Context, tx pgx.Tx, subs []backend.Submission) ([]backend.Outcome, error) {
	var outcomes []backend.Outcome
	err := b.store.InTransactionOf(ctx, tx, func(conn pgstore.Conn) error {
		var failed error
		out, err := b.store.Submit(ctx, subs, backend.Grant{Fair: true}, func(shard int, started []pgstore.Started, out *pgstore.Outcomes) error {
			if failed != nil {
				return failed
			}
			events := eventsOf(started)
			c := &commit{b: b, shard: shard, grant: backend.Grant{Fair: true}, sent: b.store.Clock.Now()}
			for _, e := range events {
				c.registerEvent(e)
			}
			if failed = c.applyInTransaction(ctx, conn, events); failed == nil {
				c.add(out, events)
			}
			return failed
		})
		outcomes = out.Outcomes
		return cmp.Or(failed, err)
	})
	if err != nil {
		return nil, err
	}
	return outcomes, nil
}
