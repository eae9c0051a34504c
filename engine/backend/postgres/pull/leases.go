package pull

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
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

// storable says whether a row can have the path: the server takes no other text, not even to say that
// there is none.
func storable(path graph.Path) bool {
	return utf8.ValidString(string(path)) && !strings.Contains(string(path), "\x00")
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
			return nil, postgres.Explain(err)
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
