package push

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	grant.Max = max(grant.Max, 1) // the length of the lease must be sensible
	if err := b.check(shard, grant); err != nil {
		return nil, err
	}
	return b.store.Renew(ctx, queue, shard, held, grant.Lease)
}

// claimed is a row that a claim leased.
type claimed struct {
	task     backend.Task
	workflow int32
	args     []plan.Arg // where they refer to values
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	var out backend.Committed
	if err := b.check(shard, grant); err != nil {
		return out, err
	}
	owner, err := b.owner(ctx, grant.Owner)
	if err != nil {
		return out, postgres.Explain(err)
	}
	var rows []claimed
	out, err = b.store.Claim(ctx, grant.Lease,
		&pgx.QueuedQuery{SQL: claimSQL, Arguments: []any{shard, grant.Max, owner, micros(grant.Lease)}},
		func(r pgx.Rows, expires time.Time) (err error) {
			rows, err = collectClaimed(r, expires)
			return err
		},
		&pgx.QueuedQuery{SQL: nextDueSQL, Arguments: []any{shard}})
	if err != nil {
		return backend.Committed{}, err
	}
	if out.Tasks, err = b.tasks(ctx, shard, rows); err != nil {
		// What was leased comes back when its lease is over.
		return backend.Committed{}, postgres.Explain(fmt.Errorf("%w: %w", backend.ErrUnknown, err))
	}
	return out, nil
}

func collectClaimed(r pgx.Rows, expires time.Time) ([]claimed, error) {
	defer r.Close()
	var all []claimed
	for r.Next() {
		var c claimed
		row := r.RawValues() // text comes as it is, and all else in binary
		run := graph.Run{Node: graph.NodeID(postgres.Int4(row[1])), Path: graph.Path(row[2])}
		c.task.Lease = backend.Lease{Key: backend.Key{Instance: uuid.UUID(row[0]), Run: run}, Token: postgres.Int8(row[3])}
		c.task.Attempt, c.workflow, c.task.Expires = int(postgres.Int4(row[4])), postgres.Int4(row[5]), expires
		if args := row[6]; byReference(args) {
			var err error
			if c.args, err = backend.DecodeArgs(args); err != nil {
				return nil, err
			}
		} else {
			c.task.Args = slices.Clone(args)
		}
		all = append(all, c)
	}
	return all, r.Err()
}

// tasks gives claimed rows their programs and the values that their arguments refer to. A lease that stands behind the
// reading of its values was not called off before, so that they are still those of its plan.
func (b *Backend) tasks(ctx context.Context, shard int, rows []claimed) ([]backend.Task, error) {
	var r reads
	var leases postgres.Leases
	events := map[uuid.UUID]*event{}
	for i, c := range rows {
		if c.task.Args != nil {
			continue
		}
		e := events[c.task.Lease.Key.Instance]
		if e == nil {
			e = &event{instance: c.task.Lease.Key.Instance}
			events[e.instance] = e
		}
		r.add(e, backend.Refs(c.args))
		leases.Add(int32(i), c.task.Lease)
	}
	stand, err := b.values(ctx, shard, &r, &leases)
	if err != nil {
		return nil, err
	}
	tasks := make([]backend.Task, 0, len(rows))
	for i, c := range rows {
		p, err := b.store.Program(ctx, c.workflow)
		if err != nil {
			return nil, err
		}
		t := c.task
		t.Program, t.Action = p, p.Graph().Nodes[t.Lease.Key.Run.Node].Action
		if t.Args != nil {
			tasks = append(tasks, t)
			continue
		}
		if !stand[int32(i)] { // called off meanwhile: nobody misses the task
			continue
		}
		if t.Args, err = backend.AssembleArgs(c.args, events[t.Lease.Key.Instance].value); err != nil {
			continue // the instance has ended meanwhile, and its values are gone before its leases
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// values reads what arguments refer to, and then which of their leases stand.
func (b *Backend) values(ctx context.Context, shard int, r *reads, leases *postgres.Leases) (map[int32]bool, error) {
	stand := map[int32]bool{}
	if len(leases.Ord) == 0 {
		return stand, nil
	}
	batch := &pgx.Batch{}
	batch.Queue(readSQL, r.parameters(shard)...).Query(r.take)
	queue.Leased(batch, shard, leases, stand)
	return stand, b.store.Pool.SendBatch(ctx, batch).Close()
}
