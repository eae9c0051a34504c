package eager

import (
	"context"
	"encoding/json"

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
	programs, err := b.programs(ctx, shard, held)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	placed := make([]backend.Lease, len(held))
	for i, l := range held {
		placed[i] = l
		if p := programs[l.Key.Instance]; p != nil {
			placed[i].Key.Run.Path = b.shape(p).run(l.Key.Run)
		}
	}
	return b.Base.Renew(ctx, shard, placed, grant)
}

func (b *Backend) programs(ctx context.Context, shard int, held []backend.Lease) (map[uuid.UUID]*plan.Program, error) {
	out := map[uuid.UUID]*plan.Program{}
	var ids [][16]byte
	for _, l := range held {
		if _, ok := out[l.Key.Instance]; !ok {
			out[l.Key.Instance] = nil
			ids = append(ids, l.Key.Instance)
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
