package eager

import (
	"context"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// cleanup removes what ended instances left, in the order in which completions lock.
var cleanup = postgres.NewCleanup(runs,
	postgres.CleanupTable{Name: "node_ready_state", Key: "node, place", Leave: true},
	postgres.CleanupTable{Name: "node_pending_context", Key: "node, place, element", Leave: true},
	postgres.CleanupTable{Name: "instance_eval_context", Key: "variable, scope, element", Leave: true},
)

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
