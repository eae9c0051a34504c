package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Base answers the calls that do not depend on a design: lookups, notifications and the renewal of leases. A design embeds it.
type Base struct {
	store  *Store
	queue  *Queue
	tables []string
}

// NewBase returns a Base for a design with a queue. tables have rows of instances.
func NewBase(store *Store, queue *Queue, tables ...string) Base { return Base{store, queue, tables} }

// Shards implements backend.Backend.
func (b *Base) Shards() int { return b.store.Shards() }

// Close implements backend.Backend.
func (b *Base) Close() { b.store.Close() }

// Origins reads what instances were created from. It leaves out those that do not exist.
func (b *Base) Origins(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]postgres.Origin, error) {
	return b.store.Origins(ctx, ids)
}

// Purge implements backend.Purger.
func (b *Base) Purge(ctx context.Context, shard int, after uuid.UUID, age time.Duration, dry bool) (backend.Purged, error) {
	return b.store.Purge(ctx, shard, after, age, dry)
}

// Lookup implements backend.Backend.
func (b *Base) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return b.store.Lookup(ctx, ids)
}

// Renew implements backend.Backend.
func (b *Base) Renew(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	if err := b.store.Check(shard, grant); err != nil {
		return nil, err
	}
	if err := grant.CheckRenewal(); err != nil {
		return nil, fmt.Errorf("renew: %w", err)
	}
	return b.store.Renew(ctx, b.queue, shard, held, grant)
}

// MakeDue implements a part of backend.Signaler.
func (b *Base) MakeDue(ctx context.Context, shard int, keys []backend.Key) ([]bool, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return nil, err
	}
	return b.store.MakeDue(ctx, b.queue, shard, keys)
}

// Listen implements backend.Listener.
func (b *Base) Listen(ctx context.Context, wake func()) error { return b.store.Listen(ctx, wake) }

// Notify implements backend.Listener.
func (b *Base) Notify(ctx context.Context) error { return b.store.Notify(ctx) }

// Leftovers counts the rows of ended instances, by table, without tables that have none. It is for tests of I10 and for scans.
func (b *Base) Leftovers(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for _, table := range b.tables {
		sql := Variant{File: "leftovers", Names: []string{"{table}", table}}.text(statementFiles)
		var n int
		if err := b.store.Pool.QueryRow(ctx, sql).Scan(&n); err != nil {
			return nil, postgres.Explain(err)
		}
		if n > 0 {
			out[table] = n
		}
	}
	return out, nil
}

// SweptBase is a Base for a design whose ended instances leave rows, which a Sweeper removes.
type SweptBase struct {
	Base
	sweeper *Sweeper
}

// NewSweptBase returns a SweptBase, which owns the sweeper.
func NewSweptBase(sweeper *Sweeper) SweptBase {
	return SweptBase{NewBase(sweeper.store, sweeper.sql.queue, sweeper.sql.names...), sweeper}
}

// Close implements backend.Backend.
func (b *SweptBase) Close() {
	b.sweeper.Close()
	b.Base.Close()
}

// Sweep implements backend.Backend. Claim takes over expired leases; Sweep moves them to the front.
func (b *SweptBase) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return b.sweeper.Sweep(ctx, shard)
}

// Cancel implements backend.Canceler.
func (b *SweptBase) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.sweeper.Cancel(ctx, ids, reason)
}

// Check refuses calls with an invalid shard or grant.
func (s *Store) Check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, s.shards); err != nil {
		return err
	}
	return grant.Check()
}
