package postgres

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// Base answers the calls of a backend that do not depend on its design: those that look at instances, the wake-ups between
// processes, and the renewal of leases on its queue. A design embeds it, and has the calls in which it differs.
type Base struct {
	store  *Store
	queue  *Queue
	tables []string
}

// NewBase makes one for a design whose node runs wait on a queue. Tables are those with rows of instances.
func NewBase(store *Store, queue *Queue, tables ...string) Base { return Base{store, queue, tables} }

// Shards implements backend.Backend.
func (b *Base) Shards() int { return b.store.Shards() }

// Close implements backend.Backend.
func (b *Base) Close() { b.store.Close() }

// OriginOf reads what an instance was made of. It is nil where there is no such instance.
func (b *Base) OriginOf(ctx context.Context, id uuid.UUID) (*Origin, error) {
	return b.store.OriginOf(ctx, id)
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
	return b.store.Renew(ctx, b.queue, shard, held, grant.Lease)
}

// Listen implements backend.Listener.
func (b *Base) Listen(ctx context.Context, wake func()) error { return b.store.Listen(ctx, wake) }

// Notify implements backend.Listener.
func (b *Base) Notify(ctx context.Context) error { return b.store.Notify(ctx) }

// Leftovers counts the rows of each table that belong to instances which have ended, where there are any; it is for tests of
// I10, and scans.
func (b *Base) Leftovers(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for _, table := range b.tables {
		sql := Variant{File: "leftovers", Names: []string{"{table}", table}}.text(statementFiles)
		var n int
		if err := b.store.Pool.QueryRow(ctx, sql).Scan(&n); err != nil {
			return nil, Explain(err)
		}
		if n > 0 {
			out[table] = n
		}
	}
	return out, nil
}

// SweptBase is a Base of a design whose ended instances leave rows, which a Sweeper removes.
type SweptBase struct {
	Base
	sweeper *Sweeper
}

// NewSweptBase makes one, which closes the sweeper.
func NewSweptBase(sweeper *Sweeper) SweptBase {
	return SweptBase{NewBase(sweeper.store, sweeper.sql.queue, sweeper.sql.names...), sweeper}
}

// Close implements backend.Backend.
func (b *SweptBase) Close() {
	b.sweeper.Close()
	b.Base.Close()
}

// Sweep implements backend.Backend. Claim takes expired leases over; here they are put first.
func (b *SweptBase) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	return b.sweeper.Sweep(ctx, shard)
}

// Cancel implements backend.Canceler.
func (b *SweptBase) Cancel(ctx context.Context, ids []uuid.UUID, reason string) ([]backend.Instance, error) {
	return b.sweeper.Cancel(ctx, ids, reason)
}

// Check refuses calls that name no shard or grant nothing sensible.
func (s *Store) Check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, s.shards); err != nil {
		return err
	}
	return grant.Check()
}
