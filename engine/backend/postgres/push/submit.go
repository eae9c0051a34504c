package push

import (
	"context"

	"pulley/engine/backend"
	"pulley/internal/pgstore"
)

// Submit implements backend.Backend. It commits shard by shard.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	return b.store.Submit(ctx, subs, grant, func(shard int, started []pgstore.Started, out *pgstore.Outcomes) error {
		events := make([]*commitEvent, len(started))
		for i, s := range started {
			events[i] = &commitEvent{ord: s.Place, instance: s.Submission.ID, program: s.Submission.Program, workflow: s.Workflow, submission: s.Submission, plan: s.Plan}
		}
		return b.commitBatch(ctx, shard, events, grant, out)
	})
}
