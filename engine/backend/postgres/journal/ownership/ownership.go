// Package ownership keeps who owns which shard of the journal, in the store.
//
// A shard's row says who owns it, in which epoch, and until when, on the server's clock. An engine that finds it free, or the
// owner's time over, takes it with the next epoch; since the epoch is part of a key that appends lock, taking it waits for
// appends under way, and whatever an earlier owner sends later finds another epoch. An engine that gives a shard back leaves the
// leases on its node runs with it. The engines that look for work are noted too, so that each can tell how many shards are its
// part.
package ownership

import (
	"context"
	"embed"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
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

// SQL gives a statement as it is sent, by the name of its file.
func SQL(name string) (string, error) { return postgres.Statement(statementFiles, name) }

// Pool is a pool of connections. Each of its calls is one round trip, and one transaction.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Registry is the store's books of owners, as one owner uses them.
type Registry struct {
	Pool         Pool
	Name         string // of this owner among all
	Channel      string // by which owners are told of others
	PeersChanged string // what they are told then
}

// ShardView is how the store sees a shard.
type ShardView struct {
	Epoch     int64
	Owner     string
	Remaining time.Duration // of the owner's lease
}

// Lease is one on a node run that goes with a shard from owner to owner. Due is an instant of the owner's clock, in nanoseconds.
type Lease struct {
	Instance uuid.UUID
	Key      graph.Run
	Attempt  int32 // zero: the one at hand
	Token    int64 // zero: nobody holds it, it tells of a delivery
	Due      int64
}

// Free says whether this owner may take a shard.
func (r *Registry) Free(s ShardView) bool {
	return s.Owner == "" || s.Owner == r.Name || s.Remaining <= 0
}

// ViewShard looks how the store sees a shard.
func (r *Registry) ViewShard(ctx context.Context, shard int) (ShardView, error) {
	var s ShardView
	var micros int64
	err := r.Pool.QueryRow(ctx, shardViewSQL, shard).Scan(&s.Epoch, &s.Owner, &micros)
	s.Remaining = time.Duration(micros) * time.Microsecond
	return s, err
}

// Acquire takes a new epoch of a shard, which fences everything sent before, for a time, and says whether nobody else had the shard
// since this owner had it in the epoch known; 0: it never did. pgx.ErrNoRows says that somebody was faster.
func (r *Registry) Acquire(ctx context.Context, shard int, known int64, span time.Duration) (epoch int64, mine bool, err error) {
	err = r.Pool.QueryRow(ctx, acquireSQL, shard, r.Name, span.Microseconds(), known).Scan(&epoch, &mine)
	return epoch, mine, err
}

// Renew renews the leases on shards that are owned in the epochs given, and gives the shards whose leases it has renewed.
func (r *Registry) Renew(ctx context.Context, shards []int16, epochs []int64, span time.Duration) ([]int16, error) {
	rows, err := r.Pool.Query(ctx, renewSQL, r.Name, span.Microseconds(), shards, epochs)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int16])
}

// Release gives a shard back, with leases on its node runs, and says whether it was this owner's. counted says that they tell of every
// delivery that the store does not know. Both are so of the epoch known, and hold only if nobody else has had the shard since. now is
// the instant of its clock.
func (r *Registry) Release(ctx context.Context, shard int, known int64, leases []Lease, counted bool, now int64) (given bool, err error) {
	ids, nodes, paths := make([][16]byte, len(leases)), make([]int32, len(leases)), make([]string, len(leases))
	tokens, rests := make([]int64, len(leases)), make([]int64, len(leases))
	for i, l := range leases {
		ids[i], nodes[i], paths[i] = l.Instance, int32(l.Key.Node), string(l.Key.Path)
		tokens[i], rests[i] = l.Token, (l.Due-now)/1000
	}
	tag, err := r.Pool.Exec(ctx, releaseSQL, shard, r.Name, ids, nodes, paths, tokens, rests, r.Channel, r.PeersChanged, counted, known)
	return tag.RowsAffected() > 0, err
}

// Leases reads those that came with a shard, and says whether they tell of every delivery that the store does not know, and whether
// the shard is owned in the epoch still. The store says how long each lasts
// yet; now, this owner's clock, is read when it has answered: a lease must not end here before it ends with its holder.
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
	case found[0].Instance == uuid.Nil: // there are none
		return nil, counted, true, nil
	}
	return found, counted, true, nil
}

// scanLease reads a lease that came with a shard, and what is said of all; without an instance there is none.
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

// DropLeases drops those that came with a shard and were read, and says whether it is owned in the epoch still.
func (r *Registry) DropLeases(ctx context.Context, shard int, epoch int64) (owned bool, err error) {
	tag, err := r.Pool.Exec(ctx, dropLeasesSQL, shard, epoch)
	return tag.RowsAffected() > 0, err
}

// See notes whether this owner looks for work, and counts the others that do, and the shards that are free. An owner that was not
// heard of for so long is gone.
func (r *Registry) See(ctx context.Context, removed time.Duration, looks bool) (others, free int, err error) {
	var told *string
	err = r.Pool.QueryRow(ctx, seeOwnerSQL, r.Name, removed.Microseconds(), looks, r.Channel, r.PeersChanged).Scan(&others, &free, &told)
	return others, free, err
}

// Forget has the others know that this owner is gone.
func (r *Registry) Forget(ctx context.Context) error {
	_, err := r.Pool.Exec(ctx, forgetOwnerSQL, r.Name, r.Channel, r.PeersChanged)
	return err
}
