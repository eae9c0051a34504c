package eager

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Extend implements backend.Backend. The rows of leases are found by their places, which only the
// instances' workflows tell.
func (b *Backend) Extend(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	grant.Max = max(grant.Max, 1) // the length of the lease must be sensible
	if err := b.check(shard, grant); err != nil {
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
	return b.store.Renew(ctx, runs, shard, placed, grant.Lease)
}

// programs gives the workflows of instances that run.
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

// claimed is a row that a claim leased.
type claimed struct {
	task     backend.Task
	workflow int32
	args     []plan.Arg
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	if err := b.check(shard, grant); err != nil {
		return backend.Committed{}, err
	}
	var found []claimed
	out, err := b.store.Claim(ctx, grant.Lease,
		&pgx.QueuedQuery{SQL: claimSQL, Arguments: []any{shard, grant.Max, grant.Owner, micros(grant.Lease)}},
		func(rows pgx.Rows, expires time.Time) (err error) {
			found, err = collectClaimed(rows, expires)
			return err
		},
		&pgx.QueuedQuery{SQL: nextDueSQL, Arguments: []any{shard}})
	if err != nil {
		return backend.Committed{}, err
	}
	if out.Tasks, err = b.tasks(ctx, shard, found); err != nil {
		// What was leased comes back when its lease is over.
		return backend.Committed{}, postgres.Explain(fmt.Errorf("%w: %w", backend.ErrUnknown, err))
	}
	return out, nil
}

func collectClaimed(rows pgx.Rows, expires time.Time) ([]claimed, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (claimed, error) {
		var c claimed
		var instance [16]byte
		var node int32
		var path string
		var args []byte
		if err := row.Scan(&instance, &node, &path, &c.task.Lease.Token, &c.task.Attempt, &c.workflow, &args); err != nil {
			return c, err
		}
		c.task.Lease.Key = backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
		c.task.Expires = expires
		if args == nil {
			return c, nil
		}
		var err error
		c.args, err = backend.DecodeArgs(args)
		return c, err
	})
}

// tasks gives claimed rows their programs and the values that their arguments refer to. A lease that stands behind the
// reading of its values was not called off before, so that they are still those of its plan.
func (b *Backend) tasks(ctx context.Context, shard int, found []claimed) ([]backend.Task, error) {
	var r reads
	var leases postgres.Leases
	events := make([]*event, len(found))
	for i, c := range found {
		t := &found[i].task
		p, err := b.store.Program(ctx, c.workflow)
		if err != nil {
			return nil, err
		}
		t.Program, t.Action = p, p.Graph().Nodes[t.Lease.Key.Run.Node].Action
		events[i] = &event{ord: int32(i), instance: t.Lease.Key.Instance}
		if slots := backend.Refs(c.args); len(slots) > 0 {
			r.add(events[i], slots)
			at := t.Lease
			at.Key.Run.Path = b.shape(p).run(at.Key.Run)
			leases.Add(int32(i), at)
		}
	}
	stand := map[int32]bool{}
	batch := &pgx.Batch{}
	if r.queue(batch, shard); batch.Len() > 0 {
		runs.Leased(batch, shard, &leases, stand)
		if err := b.store.Pool.SendBatch(ctx, batch).Close(); err != nil {
			return nil, err
		}
	}
	tasks := make([]backend.Task, 0, len(found))
	for i, c := range found {
		if len(backend.Refs(c.args)) > 0 && !stand[int32(i)] { // called off meanwhile: nobody misses the task
			continue
		}
		var err error
		if c.task.Args, err = backend.AssembleArgs(c.args, events[i].value); err != nil {
			continue // the instance has ended meanwhile, and its values are gone before its leases
		}
		tasks = append(tasks, c.task)
	}
	return tasks, nil
}
