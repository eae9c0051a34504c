package push

import (
	"context"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
)

// commitSlotRetention is how long a commit slot's row stays after its last change, much longer than resolving a commit takes. An
// engine paused for more than half of that time treats a missing row as unknown. Time is the server's: if its clock jumps ahead
// by as much before a commit is resolved, applied completions are answered Stale; only the answer is wrong.
const commitSlotRetention = 2 * time.Minute

// cleanup removes in the order in which completions lock.
var cleanup = pgstore.NewCleanup(queue,
	pgstore.CleanupTable{Name: "queue", Key: "node, path"},
	pgstore.CleanupTable{Name: "readiness", Key: "node, path"},
	pgstore.CleanupTable{Name: "elements", Key: "node, path, first"},
	pgstore.CleanupTable{Name: "inbox", Key: "variable, path, element"},
)

// Sweep implements backend.Backend. Claim takes over expired leases; the sweeper moves them to the front.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return backend.Swept{}, err
	}
	if _, err := b.store.Pool.Exec(ctx, deleteOldSlotsSQL, shard, b.slots.retention.Microseconds()); err != nil {
		return backend.Swept{}, postgres.Explain(err)
	}
	if shard == 0 {
		_ = b.peers.Refresh(ctx) // a killed engine sends no notification
	}
	return b.sweeper.Sweep(ctx, shard)
}

// cleanUpAfter removes, in the background, what instances ended by a commit have left.
func (b *Backend) cleanUpAfter(c *commit) {
	for _, e := range c.shared {
		b.sweeper.CleanInBackground(c.shard, e.instance)
	}
}
