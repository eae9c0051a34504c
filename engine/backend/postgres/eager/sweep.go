package eager

import "pulley/internal/pgstore"

// cleanup removes in the order in which completions lock.
var cleanup = pgstore.NewCleanup(runs,
	pgstore.CleanupTable{Name: "node_ready_state", Key: "node, place", Leave: true},
	pgstore.CleanupTable{Name: "node_pending_context", Key: "node, place, element", Leave: true},
	pgstore.CleanupTable{Name: "instance_eval_context", Key: "variable, scope, element", Leave: true},
)

func (b *Backend) cleanUpAfter(c *commit) {
	for _, id := range c.shared {
		b.sweeper.CleanInBackground(c.shard, id)
	}
}
