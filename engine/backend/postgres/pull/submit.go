package pull

import (
	"context"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

// Submit implements backend.Backend. It stores and scans the instances of a shard in one transaction.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	return b.store.Submit(ctx, subs, grant, func(shard int, started []pgstore.Started, out *pgstore.Outcomes) error {
		return b.begin(ctx, shard, started, grant, out)
	})
}

func (b *Backend) begin(ctx context.Context, shard int, started []pgstore.Started, grant backend.Grant, out *pgstore.Outcomes) error {
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
