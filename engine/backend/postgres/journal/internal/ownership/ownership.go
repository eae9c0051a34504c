// Package ownership stores which engine owns which shard of the journal.
//
// A shard's row names the owner, its epoch, and the end of its lease, on the server's clock. An engine that finds the shard free,
// or its lease expired, takes it with the next epoch. The epoch is part of a key that appends lock: so taking a shard waits for
// appends under way, and later ones of an earlier owner find another epoch. An engine that returns a shard stores the leases on
// its node runs with it. Engines that look for work are stored, too, so that each can compute its share of the shards.
package ownership

import (
	"context"
	"embed"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/graph"
	"pulley/internal/pgstore"
)

var (
	//go:embed sql/shard_view.sql
	shardViewSQL string
	//go:embed sql/acquire.sql
	acquireSQL string
	//go:embed sql/renew.sql
	renewSQL string
	//go:embed sql/release.sql
	releaseSQL string
	//go:embed sql/adopt_leases.sql
	adoptLeasesSQL string
	//go:embed sql/drop_leases.sql
	dropLeasesSQL string
	//go:embed sql/see_owner.sql
	seeOwnerSQL string
	//go:embed sql/forget_owner.sql
	forgetOwnerSQL string
	//go:embed sql/*.sql
	statementFiles embed.FS
)

// SQL returns a statement as it is sent, by file name.
func SQL(name string) (string, error) { return pgstore.Statement(statementFiles, name) }

// Pool is a pool of connections. Each call is one round trip and one transaction.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Registry is the table of owners, as one owner uses it.
type Registry struct {
	Pool         Pool
	Name         string // of this owner
	Channel      string // for notifications to owners
	PeersChanged string // their payload
}

// ShardView is the store's view of a shard.
type ShardView struct {
	Epoch     int64
	Owner     string
	Remaining time.Duration // of the owner's lease
}

// Lease is a lease on a node run that goes with a shard from owner to owner. Due is on the owner's clock, in nanoseconds.
type Lease struct {
	Instance uuid.UUID
	Key      graph.Run
	Attempt  int32 // zero: the current one
	Token    int64 // zero: only records a delivery
	Due      int64
}

// Free reports whether this owner may take a shard.
func (r *Registry) Free(s ShardView) bool {
	return s.Owner == "" || s.Owner == r.Name || s.Remaining <= 0
}

// ViewShard reads a shard's row.
func (r *Registry) ViewShard(ctx context.Context, shard int) (ShardView, error) {
	var s ShardView
	var micros int64
	err := r.Pool.QueryRow(ctx, shardViewSQL, shard).Scan(&s.Epoch, &s.Owner, &micros)
	s.Remaining = time.Duration(micros) * time.Microsecond
	return s, err
}

// Acquire takes a new epoch of a shard for a span, which fences everything sent before. mine reports that no other owner had the
// shard since this one had it in the epoch known; 0: it never did. pgx.ErrNoRows means that another engine was faster.
func (r *Registry) Acquire(ctx context.Context, shard int, known int64, span time.Duration) (epoch int64, mine bool, err error) {
	err = r.Pool.QueryRow(ctx, acquireSQL, shard, r.Name, span.Microseconds(), known).Scan(&epoch, &mine)
	return epoch, mine, err
}

// Renew renews the leases on shards owned in the given epochs, and returns the shards that it has renewed.
func (r *Registry) Renew(ctx context.Context, shards []int16, epochs []int64, span time.Duration) ([]int16, error) {
	rows, err := r.Pool.Query(ctx, renewSQL, r.Name, span.Microseconds(), shards, epochs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int16])
}

// Release returns a shard with the leases on its node runs, and reports whether this owner had it in that epoch. counted means that the leases
// record every delivery that the store lacks. Leases and counted are those of the epoch known, and count only if no other owner
// had the shard since. now is the time on this owner's clock.
func (r *Registry) Release(ctx context.Context, shard int, epoch, known int64, leases []Lease, counted bool, now int64) (given bool, err error) {
	ids, nodes, paths := make([][16]byte, len(leases)), make([]int32, len(leases)), make([]string, len(leases))
	tokens, rests := make([]int64, len(leases)), make([]int64, len(leases))
	for i, l := range leases {
		ids[i], nodes[i], paths[i] = l.Instance, int32(l.Key.Node), string(l.Key.Path)
		tokens[i], rests[i] = l.Token, (l.Due-now)/1000
	}
	tag, err := r.Pool.Exec(ctx, releaseSQL, shard, r.Name, ids, nodes, paths, tokens, rests, r.Channel, r.PeersChanged, counted, known, epoch)
	return tag.RowsAffected() > 0, err
}

// Leases reads the leases that came with a shard. counted reports that they record every delivery that the store lacks, owned
// that the shard still has the epoch. The store returns the rest of each lease, which counts from now, read after the answer: a
// lease must not end here before it ends with its holder.
func (r *Registry) Leases(ctx context.Context, shard int, epoch int64, now func() int64) (came []Lease, counted, owned bool, err error) {
	rows, err := r.Pool.Query(ctx, adoptLeasesSQL, shard, epoch)
	if err != nil {
		return nil, false, false, err
	}
	answered := now()
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Lease, error) { return scanLease(row, answered, &counted) })
	switch {
	case err != nil || len(found) == 0:
		return nil, false, false, err
	case found[0].Instance == uuid.Nil: // none came
		return nil, counted, true, nil
	}
	return found, counted, true, nil
}

func scanLease(row pgx.CollectableRow, now int64, counted *bool) (Lease, error) {
	var instance *uuid.UUID
	var node *graph.NodeID
	var path *graph.Path
	var token, micros *int64
	if err := row.Scan(&instance, &node, &path, &token, &micros, counted); err != nil || instance == nil {
		return Lease{}, err
	}
	return Lease{Instance: *instance, Key: graph.Run{Node: *node, Path: *path}, Token: *token, Due: now + *micros*1000}, nil
}

// DropLeases deletes the leases that came with a shard, and reports whether the shard still has the epoch.
func (r *Registry) DropLeases(ctx context.Context, shard int, epoch int64) (owned bool, err error) {
	tag, err := r.Pool.Exec(ctx, dropLeasesSQL, shard, epoch)
	return tag.RowsAffected() > 0, err
}

// See stores whether this owner looks for work, and counts the other owners that do, and the free shards. An owner not seen for
// the time removed has exited.
func (r *Registry) See(ctx context.Context, removed time.Duration, looks bool) (others, free int, err error) {
	var told *string
	err = r.Pool.QueryRow(ctx, seeOwnerSQL, r.Name, removed.Microseconds(), looks, r.Channel, r.PeersChanged).Scan(&others, &free, &told)
	return others, free, err
}

// Forget removes this owner and notifies the others.
func (r *Registry) Forget(ctx context.Context) error {
	_, err := r.Pool.Exec(ctx, forgetOwnerSQL, r.Name, r.Channel, r.PeersChanged)
	return err
}
