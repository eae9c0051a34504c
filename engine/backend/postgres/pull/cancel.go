package pull

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// Cancel implements backend.Canceler. It excludes cycles as they exclude one another, so that nothing is
// entered for an instance that is being canceled; a completion under way is waited for.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.store.UntilEnded(ctx, func() ([]backend.Instance, error) { return b.cancel(ctx, ids, reason) })
}

func (b *Backend) cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	byShard := make([][]backend.Instance, b.Shards())
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		shard := backend.ShardOf(id, b.Shards())
		byShard[shard] = append(byShard[shard], backend.Instance{
			ID: id, Status: backend.Canceled, Failure: &plan.Failure{Type: backend.CanceledType, Message: reason},
		})
	}
	begun := false
	for shard, instances := range byShard {
		if len(instances) == 0 {
			continue
		}
		_, err := b.endAll(ctx, shard, instances)
		if err != nil && begun { // those of the shards before have ended
			err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
		}
		if err != nil {
			return nil, postgres.Explain(err)
		}
		begun = true
	}
	return b.Lookup(ctx, ids)
}

// endAll ends instances from outside of a cycle, but for those that have ended, and gives the others.
// Doing it again is always right.
func (b *Backend) endAll(ctx context.Context, shard int, instances []backend.Instance) (ended []backend.Instance, err error) {
	err = b.store.RetryContended(ctx, fmt.Sprintf("ending instances of shard %d", shard), func() error {
		c := b.cycling(shard, backend.Grant{}, nil, nil)
		c.bare, c.ends = true, instances
		for _, in := range instances {
			c.ids = append(c.ids, in.ID)
		}
		err := b.run(ctx, c)
		if backend.IsUnknown(err) {
			return postgres.Retryable(err)
		}
		ended = c.out.Ended
		return err
	})
	return ended, err
}
