package push

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	owner, err := b.owner(ctx, grant.Owner)
	if err != nil {
		return backend.Committed{}, postgres.Explain(err)
	}
	return b.store.Claim(ctx, shard, grant, pgstore.Claiming{Queue: queue, Owner: owner, Turns: b.turns, Values: claimValues{&reads{}, map[uuid.UUID]*commitEvent{}}})
}

// claimValues implements pgstore.Values. The claimed node runs of an instance share one event that reads.
type claimValues struct {
	*reads
	events map[uuid.UUID]*commitEvent
}

func (v claimValues) Need(instance uuid.UUID, _ int32, slots []plan.Slot) {
	e := v.events[instance]
	if e == nil {
		e = &commitEvent{instance: instance}
		v.events[instance] = e
	}
	v.add(e, slots)
}

func (v claimValues) Read(batch *pgx.Batch, shard int) {
	batch.Queue(readSQL, v.parameters(shard)...).Query(v.fillInboxes)
}

func (v claimValues) Value(instance uuid.UUID, _ int32, slot plan.Slot) (json.RawMessage, bool) {
	return v.events[instance].value(slot)
}
