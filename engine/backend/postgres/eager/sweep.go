package eager

import "pulley/engine/backend/postgres"

// cleanup removes in the order in which completions lock.
var cleanup = postgres.NewCleanup(runs,
	postgres.CleanupTable{Name: "node_ready_state", Key: "node, place", Leave: true},
	postgres.CleanupTable{Name: "node_pending_context", Key: "node, place, element", Leave: true},
	postgres.CleanupTable{Name: "instance_eval_context", Key: "variable, scope, element", Leave: true},
)

// cleanUpAfter removes, in the background, what instances ended by a commit have left.
func (b *Backend) cleanUpAfter(c *commit) {
	for _, id := range c.shared {
		b.sweeper.CleanInBackground(c.shard, id)
	}
}
