package pull

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// Cancel implements backend.Canceler. It excludes cycles as they exclude one another, so that nothing is
// entered for an instance that is being canceled; a completion under way is waited for.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
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
	found, err := b.Lookup(ctx, ids)
	if err != nil || !slices.ContainsFunc(found, func(in backend.Instance) bool { return in.Status == backend.Running }) {
		return found, err
	}
	return b.Cancel(ctx, ids, reason) // some were submitted meanwhile
}

// endAll ends instances from outside of a cycle, but for those that have ended, and gives the others.
// Doing it again is always right.
func (b *Backend) endAll(ctx context.Context, shard int, instances []backend.Instance) ([]backend.Instance, error) {
	for try := 1; ; try++ {
		c := b.cycling(shard, backend.Grant{}, nil, nil)
		c.bare, c.ends = true, instances
		for _, in := range instances {
			c.ids = append(c.ids, in.ID)
		}
		err := b.run(ctx, c)
		switch {
		case err == nil:
			return c.out.Ended, nil
		case try < commitTries && ctx.Err() == nil && (postgres.Contended(err) || backend.IsUnknown(err)):
		default:
			return nil, err
		}
	}
}
