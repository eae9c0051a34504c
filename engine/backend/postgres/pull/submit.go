package pull

import (
	"context"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Submit implements backend.Backend. The instances of a shard are stored in one transaction with the cycle that
// finds their first node runs.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	return b.store.Submit(ctx, subs, grant, func(shard int, started []postgres.Started, out *postgres.Outcomes) error {
		return b.begin(ctx, shard, started, grant, out)
	})
}

// begin stores the instances of one shard, with their cycle.
func (b *Backend) begin(ctx context.Context, shard int, started []postgres.Started, grant backend.Grant, out *postgres.Outcomes) error {
	c, err := b.attempt(ctx, shard, func(known *reading) *scanTx {
		c := b.newScanTx(shard, grant, out, known)
		c.submitted = started
		for _, s := range started {
			c.ids = append(c.ids, s.Submission.ID)
		}
		return c
	})
	if err != nil {
		return err
	}
	for _, s := range started {
		out.Conclude(s.Place, c.fresh[s.Submission.ID], true)
	}
	b.addResult(ctx, c, grant, out)
	return nil
}

// queueSubmit adds the statement that stores instances.
func (c *scanTx) queueSubmit(batch *pgx.Batch) {
	var workflows []int32
	var inputs []string
	for _, s := range c.submitted {
		workflows, inputs = append(workflows, s.Workflow), append(inputs, string(s.Submission.Input))
	}
	c.fresh = map[[16]byte]bool{}
	batch.Queue(submitSQL, c.shard, c.ids, workflows, inputs).Query(func(rows pgx.Rows) error {
		var id [16]byte
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			c.fresh[id] = true
			return nil
		})
		return err
	})
}

// start writes the first steps of the instances that are new.
func (c *scanTx) start(f *effects) error {
	for _, s := range c.submitted {
		if !c.fresh[s.Submission.ID] {
			continue
		}
		if err := f.add(s.Submission.Program, s.Submission.ID, "start", s.Plan); err != nil {
			return err
		}
	}
	return nil
}
