package eager

import (
	"context"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// newSweeper gives what cleans up after ended instances: the rows of nodes first, as completions lock.
func newSweeper(store *postgres.Store) *postgres.Sweeper {
	return postgres.NewSweeper(store, postgres.Cleanup{
		Queue: runs, Untidy: untidySQL, Tidy: tidySQL,
		Tables: []string{tidyReadySQL, tidyPendingSQL, tidyContextSQL},
	})
}

// Sweep implements backend.Backend. Claim takes expired leases over; here they are put first.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return b.sweeper.Sweep(ctx, shard)
}

// cleanUpAfter has removed, in the background, what instances left that a commit ended.
func (b *Backend) cleanUpAfter(c *commit) {
	for _, id := range c.untidy {
		b.sweeper.Later(c.shard, id)
	}
}

// Cancel implements backend.Canceler.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.sweeper.Cancel(ctx, ids, reason)
}
