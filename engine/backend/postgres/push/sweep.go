package push

import (
	"context"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// commitSlotRetention is how long commit slots are kept that are not changed any more: much longer than anybody asks what
// became of one. Of a process that was killed they stay as long; one that stood still for half as long does not rely on them. It
// is the server's clock that counts: one that is put forward by as much, before it is asked what became of a commit, has
// completions that was applied be answered as stale. Nothing is lost by that but the answer.
const commitSlotRetention = 2 * time.Minute

// cleanup removes what ended instances left, in the order in which completions lock.
var cleanup = postgres.NewCleanup(queue,
	postgres.CleanupTable{Name: "queue", Key: "node, path"},
	postgres.CleanupTable{Name: "readiness", Key: "node, path"},
	postgres.CleanupTable{Name: "elements", Key: "node, path, first"},
	postgres.CleanupTable{Name: "inbox", Key: "variable, path, element"},
)

// Sweep implements backend.Backend. Claim takes expired leases over; here they are put first.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return backend.Swept{}, err
	}
	if _, err := b.store.Pool.Exec(ctx, deleteOldSlotsSQL, shard, b.slots.retention.Microseconds()); err != nil {
		return backend.Swept{}, postgres.Explain(err)
	}
	if shard == 0 {
		_ = b.peers.Refresh(ctx) // nobody tells of an engine that died
	}
	return b.sweeper.Sweep(ctx, shard)
}

// cleanUpAfter has removed, in the background, what instances left that a commit ended.
func (b *Backend) cleanUpAfter(c *commit) {
	for _, e := range c.shared {
		b.sweeper.CleanInBackground(c.shard, e.instance)
	}
}
