package pull

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Cancel implements backend.Canceler. It takes the scan lock, so that nothing is entered for the instances, and waits for
// completions in progress.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.store.CancelBy(ctx, ids, func(shard int, ids [][16]byte) (int, error) {
		instances := make([]backend.Instance, len(ids))
		for i, id := range ids {
			instances[i] = backend.Instance{ID: id, Status: backend.Canceled, Failure: &plan.Failure{Type: backend.CanceledType, Message: reason}}
		}
		ended, err := b.endAll(ctx, shard, instances)
		return len(ended), err
	})
}

// endAll ends running instances, without a scan, and returns them. Repeating it is always right.
func (b *Backend) endAll(ctx context.Context, shard int, instances []backend.Instance) (ended []backend.Instance, err error) {
	err = b.store.RetryContended(ctx, fmt.Sprintf("ending instances of shard %d", shard), func() error {
		c := b.newScanTx(shard, backend.Grant{}, nil, nil)
		c.bare, c.ends = true, instances
		for _, in := range instances {
			c.ids = append(c.ids, in.ID)
		}
		err := b.run(ctx, c)
		if backend.IsUnknown(err) {
			return pgstore.Retryable(err)
		}
		ended = c.out.Ended
		return err
	})
	return ended, err
}
