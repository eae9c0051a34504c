package eager

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

const (
	sweepInstances = 100   // untidy instances looked at in one sweep
	sweepRows      = 1_000 // rows removed in one statement
	tidyPasses     = 4     // over one instance, right after it ended
)

// Sweep implements backend.Backend. Expired leases need no sweeping: Claim takes them over.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	var swept backend.Swept
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return swept, err
	}
	rows, err := b.store.Pool.Query(ctx, untidySQL, shard, sweepInstances)
	if err != nil {
		return swept, postgres.Explain(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil {
		return swept, postgres.Explain(err)
	}
	for _, id := range ids {
		removed, err := b.tidy(ctx, shard, id)
		if err != nil {
			return swept, postgres.Explain(err)
		}
		swept.Rows += removed
	}
	swept.More = swept.Rows > 0 || len(ids) == sweepInstances
	return swept, nil
}

// tidy removes a piece of what an ended instance left, the rows of nodes first, as completions lock. A
// completion that began before the end may add rows until the node's row that it holds is gone; only a
// pass that finds nothing at all is the last, and tidy.sql looks once more.
func (b *Backend) tidy(ctx context.Context, shard int, id [16]byte) (int, error) {
	removed := 0
	for _, sql := range []string{tidyReadySQL, tidyPendingSQL, tidyContextSQL} {
		tag, err := b.store.Pool.Exec(ctx, sql, shard, id, sweepRows)
		if err != nil {
			return removed, err
		}
		removed += int(tag.RowsAffected())
	}
	if removed > 0 {
		return removed, nil
	}
	_, err := b.store.Pool.Exec(ctx, tidySQL, shard, id)
	return 0, err
}

// tidyAfter begins to sweep at once what instances left that a commit ended.
func (b *Backend) tidyAfter(ctx context.Context, c *commit) {
	for _, id := range c.untidy {
		b.tidyNow(ctx, c.shard, id)
	}
}

// tidyNow sweeps what an instance left that has just ended. What it does not get done is left to Sweep,
// and so are errors.
func (b *Backend) tidyNow(ctx context.Context, shard int, id [16]byte) {
	for range tidyPasses {
		if removed, err := b.tidy(ctx, shard, id); err != nil || removed == 0 {
			return
		}
	}
}

// Cancel implements backend.Canceler.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.store.Cancel(ctx, ids, reason, func(shard int, ended [][16]byte) {
		for _, id := range ended {
			b.tidyNow(ctx, shard, id)
		}
	})
}
