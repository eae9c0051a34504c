package push

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// leases are parameters that name leases.
type leases struct {
	ord      []int32
	instance [][16]byte
	node     []int32
	path     []string
	token    []int64
}

func (l *leases) add(ord int32, lease backend.Lease) {
	l.ord = append(l.ord, ord)
	l.instance = append(l.instance, lease.Key.Instance)
	l.node = append(l.node, int32(lease.Key.Run.Node))
	l.path = append(l.path, string(lease.Key.Run.Path))
	l.token = append(l.token, lease.Token)
}

// fence gives the leases that are still held new tokens. It waits for a commit that is in flight.
func (b *Backend) fence(ctx context.Context, shard int, l *leases) (map[int32]int64, error) {
	out := map[int32]int64{}
	err := pgx.BeginFunc(ctx, b.store.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, heldSQL, shard, l.ord, l.instance, l.node, l.path, l.token); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, fenceSQL, shard, l.ord, l.instance, l.node, l.path, l.token)
		if err != nil {
			return err
		}
		var ord int32
		var token int64
		_, err = pgx.ForEachRow(rows, []any{&ord, &token}, func() error {
			out[ord] = token
			return nil
		})
		return err
	})
	return out, err
}

// ords gives the ords that a query about leases finds.
func (b *Backend) ords(ctx context.Context, sql string, shard int, l *leases) (map[int32]bool, error) {
	rows, err := b.store.Pool.Query(ctx, sql, shard, l.ord, l.instance, l.node, l.path, l.token)
	if err != nil {
		return nil, err
	}
	ords, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	out := map[int32]bool{}
	for _, ord := range ords {
		out[ord] = true
	}
	return out, err
}

// lockOrder gives the places of leases in the order in which every statement locks rows.
func lockOrder(held []backend.Lease) []int {
	order := make([]int, len(held))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return held[i].Key.Compare(held[j].Key) })
	return order
}

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	grant.Max = max(grant.Max, 1) // the length of the lease must be sensible
	if err := b.check(shard, grant); err != nil {
		return nil, err
	}
	out := make([]bool, len(held))
	if len(held) == 0 {
		return out, nil
	}
	var l leases
	for _, i := range lockOrder(held) {
		if storable(held[i].Key.Run.Path) {
			l.add(int32(i), held[i])
		}
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	defer conn.Release()
	for try := 1; ; try++ {
		// A completion can hold a row that is wanted here while it waits for another's barrier. The one
		// that the server gives up tries again: prolonging twice is prolonging.
		kept, err := extend(ctx, conn, shard, &l, grant)
		if postgres.Contended(err) && try < commitTries {
			continue
		}
		if err != nil {
			return nil, postgres.Explain(unknown(err))
		}
		for _, ord := range kept {
			out[ord] = true
		}
		return out, nil
	}
}

func extend(ctx context.Context, conn *pgxpool.Conn, shard int, l *leases, grant backend.Grant) ([]int32, error) {
	rows, err := conn.Query(ctx, extendSQL, shard, l.ord, l.instance, l.node, l.path, l.token, micros(grant.Lease))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
}

// claimed is a row that a claim leased.
type claimed struct {
	task     backend.Task
	workflow int32
	args     []plan.Arg
}

// Claim implements backend.Backend.
func (b *Backend) Claim(ctx context.Context, shard int, grant backend.Grant) (backend.Committed, error) {
	var out backend.Committed
	if err := b.check(shard, grant); err != nil {
		return out, err
	}
	conn, err := b.store.Pool.Acquire(ctx)
	if err != nil {
		return out, postgres.Explain(err)
	}
	sent := time.Now()
	var rows []claimed
	batch := &pgx.Batch{}
	batch.Queue(claimSQL, shard, grant.Max, grant.Owner, micros(grant.Lease)).Query(func(r pgx.Rows) error {
		var err error
		rows, err = collectClaimed(r, sent.Add(grant.Lease))
		return err
	})
	batch.Queue(nextDueSQL, shard).Query(func(r pgx.Rows) error {
		defer r.Close()
		for r.Next() {
			var us int64
			if err := r.Scan(&us); err != nil {
				return err
			}
			out.NextDue = sent.Add(time.Duration(max(us, 0)) * time.Microsecond)
			out.More = us <= 0
		}
		return r.Err()
	})
	err = conn.SendBatch(ctx, batch).Close()
	conn.Release() // reading a workflow takes another, and nobody may wait for one who waits
	if err != nil {
		return backend.Committed{}, postgres.Explain(unknown(err))
	}
	if out.Tasks, err = b.tasks(ctx, shard, rows); err != nil {
		// What was leased comes back when its lease is over.
		return backend.Committed{}, postgres.Explain(fmt.Errorf("%w: %w", backend.ErrUnknown, err))
	}
	return out, nil
}

func collectClaimed(r pgx.Rows, expires time.Time) ([]claimed, error) {
	return pgx.CollectRows(r, func(row pgx.CollectableRow) (claimed, error) {
		var c claimed
		var instance [16]byte
		var node int32
		var path string
		var args []byte
		err := row.Scan(&instance, &node, &path, &c.task.Lease.Token, &c.task.Attempt, &c.workflow, &args)
		if err != nil {
			return c, err
		}
		c.task.Lease.Key = backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: graph.Path(path)}}
		c.task.Expires = expires
		c.args, err = backend.DecodeArgs(args)
		return c, err
	})
}

// tasks gives claimed rows their programs and the values that their arguments refer to.
func (b *Backend) tasks(ctx context.Context, shard int, rows []claimed) ([]backend.Task, error) {
	var r reads
	events := map[int32]*event{}
	for i, c := range rows {
		e := &event{ord: int32(i), instance: c.task.Lease.Key.Instance}
		events[e.ord] = e
		r.add(e, backend.Refs(c.args))
	}
	if len(r.ord) > 0 {
		found, err := b.store.Pool.Query(ctx, readSQL, shard, r.ord, r.instance, r.variable, r.path)
		if err != nil {
			return nil, err
		}
		if err := r.take(found, events); err != nil {
			return nil, err
		}
	}
	tasks := make([]backend.Task, 0, len(rows))
	for i, c := range rows {
		p, err := b.store.Program(ctx, c.workflow)
		if err != nil {
			return nil, err
		}
		t := c.task
		t.Program, t.Action = p, p.Graph().Nodes[t.Lease.Key.Run.Node].Action
		if t.Args, err = backend.AssembleArgs(c.args, events[int32(i)].value); err != nil {
			// The instance has ended between the two statements, and its values are gone: its token
			// no longer counts, and nobody misses the task.
			continue
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}
