package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Cancel implements backend.Canceler.
func (b *Backend) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	byShard := make([][]uuid.UUID, len(b.shards))
	for _, id := range ids {
		shard := backend.ShardOf(id, len(b.shards))
		byShard[shard] = append(byShard[shard], id)
	}
	done := false
	for shard, ids := range byShard {
		if len(ids) == 0 {
			continue
		}
		if err := b.cancelIn(ctx, shard, ids, reason); err != nil {
			if done && !backend.IsUnknown(err) {
				err = fmt.Errorf("%w: %w", backend.ErrUnknown, err) // part of the call is durable
			}
			return nil, postgres.Explain(err)
		}
		done = true
	}
	found, err := b.store.Lookup(ctx, ids)
	if err != nil && done {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return found, err
}

func (b *Backend) cancelIn(ctx context.Context, shard int, ids []uuid.UUID, reason string) error {
	failure := &plan.Failure{Type: backend.CanceledType, Message: reason}
	partly := false // a statement has cancelled some and missed others
	err := b.anywhere(ctx, shard, acquireNever,
		func(sh *shardState) error { return sh.cancel(ctx, ids, failure) },
		func(s *ownership.ShardView) error {
			free, err := b.cancelFree(ctx, shard, ids, failure)
			if err != nil || free {
				partly = partly || errors.Is(err, errForeign)
				return err
			}
			_, err = b.forward(ctx, shard, forward.Request{Op: forward.Cancel, IDs: ids, Reason: reason}, s)
			return err
		})
	if err != nil && partly && !backend.IsUnknown(err) {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// cancelFree cancels instances of a shard without an owner, and reports whether it has none. It fails with errForeign if it must
// be repeated: it missed instances that an owner changed just before.
func (b *Backend) cancelFree(ctx context.Context, shard int, ids []uuid.UUID, failure *plan.Failure) (bool, error) {
	encoded, err := json.Marshal(failure)
	if err != nil {
		return false, err
	}
	raw := make([][16]byte, len(ids))
	for i, id := range ids {
		raw[i] = id
	}
	var free, missed int
	err = b.store.Pool.QueryRow(ctx, cancelFreeSQL, shard, raw, string(encoded)).Scan(&free, &missed)
	if pgstore.Unconfirmed(err) && !errors.Is(err, pgx.ErrNoRows) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	if err == nil && missed > 0 {
		err = errForeign
	}
	return free > 0, err
}

// cancel ends instances, also those that are stored but not in memory: broken, evicted or pending ones.
func (sh *shardState) cancel(ctx context.Context, ids []uuid.UUID, failure *plan.Failure) error {
	t := sh.begin()
	for _, id := range ids {
		sh.tokens++
		if inst := sh.instances[id]; inst != nil {
			t.end(inst, backend.Canceled, plan.End{Failure: failure}, sh.tokens)
			continue
		}
		inst := newInstance(id, nil, 0)
		inst.Detached = true
		if p := sh.evicted.by[id]; p != nil {
			inst.events = p.events
			t.removeEvicted(p)
		}
		t.ends = append(t.ends, ending{
			inst: inst, token: sh.tokens,
			public: backend.Instance{ID: id, Status: backend.Canceled, Failure: failure},
		})
	}
	var out backend.Committed
	return sh.finish(ctx, t, backend.Grant{}, &out)
}
