package eager

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Renew implements backend.Backend. Rows are found by place, which needs the instances' workflows.
func (b *Backend) Renew(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return nil, err
	}
	keys := make([]backend.Key, len(held))
	for i, l := range held {
		keys[i] = l.Key
	}
	keys, err := b.placed(ctx, shard, keys)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	placed := make([]backend.Lease, len(held))
	for i, l := range held {
		placed[i] = backend.Lease{Key: keys[i], Token: l.Token}
	}
	return b.Base.Renew(ctx, shard, placed, grant)
}

// MakeDue implements backend.Signaler.
func (b *Backend) MakeDue(ctx context.Context, shard int, keys []backend.Key) ([]bool, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return nil, err
	}
	keys, err := b.placed(ctx, shard, keys)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	return b.Base.MakeDue(ctx, shard, keys)
}

// placed returns keys whose paths are the places of rows. Those of unknown instances stay as they are.
func (b *Backend) placed(ctx context.Context, shard int, keys []backend.Key) ([]backend.Key, error) {
	programs, err := b.programs(ctx, shard, keys)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(keys)
	for i, key := range keys {
		if p := programs[key.Instance]; p != nil {
			out[i].Run.Path = b.shape(p).run(key.Run)
		}
	}
	return out, nil
}

func (b *Backend) programs(ctx context.Context, shard int, keys []backend.Key) (map[uuid.UUID]*plan.Program, error) {
	out := map[uuid.UUID]*plan.Program{}
	var ids [][16]byte
	for _, key := range keys {
		if _, ok := out[key.Instance]; !ok {
			out[key.Instance] = nil
			ids = append(ids, key.Instance)
		}
	}
	rows, err := b.store.Pool.Query(ctx, workflowsSQL, shard, ids)
	if err != nil {
		return nil, err
	}
	numbers := map[uuid.UUID]int32{}
	var id [16]byte
	var number int32
	if _, err := pgx.ForEachRow(rows, []any{&id, &number}, func() error {
		numbers[id] = number
		return nil
	}); err != nil {
		return nil, err
	}
	for id, number := range numbers {
		if out[id], err = b.store.Program(ctx, number); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	return b.store.Claim(ctx, shard, grant, pgstore.Claiming{
		Queue: runs, Owner: grant.Owner, Values: &claimValues{},
		Place: func(p *plan.Program, run graph.Run) graph.Path { return b.shape(p).run(run) },
	})
}

// claimValues implements pgstore.Values.
type claimValues struct{ reads }

func (v *claimValues) Need(instance uuid.UUID, number int32, slots []plan.Slot) {
	v.add(&commitEvent{ord: number, instance: instance}, slots)
}

func (v *claimValues) Read(batch *pgx.Batch, shard int) { v.queue(batch, shard) }

func (v *claimValues) Value(_ uuid.UUID, number int32, slot plan.Slot) (json.RawMessage, bool) {
	return v.events[number].value(slot)
}
