package journal

import (
	"context"
	_ "embed" // for the statement
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/internal/pgshow"
	"pulley/internal/pgstore"
)

//go:embed sql/show_owner.sql
var showOwnerSQL string

var _ backend.Inspector = (*Backend)(nil)

var errSimulated = errors.New("journal: this host does not show what it stores")

// shown returns the store if its tables can be read. A simulated host has none.
func (b *Backend) shown(ctx context.Context) (*pgstore.Store, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	if store, ok := b.store.Store.(*pgstore.Store); ok {
		return store, nil
	}
	return nil, errSimulated
}

// Origins reads what instances were created from. It leaves out those that do not exist.
func (b *Backend) Origins(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]postgres.Origin, error) {
	store, err := b.shown(ctx)
	if err != nil {
		return nil, err
	}
	return store.Origins(ctx, ids)
}

// Purge implements backend.Purger. The shard's owner removes events whose instance does not exist.
func (b *Backend) Purge(ctx context.Context, shard int, after uuid.UUID, age time.Duration, dry bool) (backend.Purged, error) {
	store, err := b.shown(ctx)
	if err != nil {
		return backend.Purged{}, err
	}
	return store.Purge(ctx, shard, after, age, dry)
}

// displayed has no statements: node runs and barriers are in the memory of the shard's owner.
var displayed pgshow.Design

// List implements backend.Inspector. It counts no node runs.
func (b *Backend) List(ctx context.Context, f backend.Filter) (backend.Page, error) {
	store, err := b.shown(ctx)
	if err != nil {
		return backend.Page{}, err
	}
	return displayed.List(ctx, store, f)
}

// inspectTimeout bounds the wait for the answer of the shard's owner.
const inspectTimeout = 3 * time.Second

// Inspect implements backend.Inspector. It asks the owner of the instance's shard for node runs and barriers. If the owner does not
// answer, the snapshot has only what is stored.
func (b *Backend) Inspect(ctx context.Context, id uuid.UUID, most int) (out backend.Snapshot, err error) {
	store, err := b.shown(ctx)
	if err != nil {
		return out, err
	}
	shard := backend.ShardOf(id, len(b.shards))
	out, err = displayed.Inspect(ctx, store, id, most, func(tx pgx.Tx, _ int32, out *backend.Snapshot) error {
		out.Owner = &backend.ShardOwner{}
		return tx.QueryRow(ctx, showOwnerSQL, shard, id).Scan(&out.Owner.Name, &out.Owner.Expires, &out.Owner.Adopted)
	})
	if err != nil || out.Owner == nil {
		return out, err
	}
	found, err := b.askOwner(ctx, shard, forward.Request{Op: forward.Inspect, IDs: []uuid.UUID{id}, Most: most})
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err()
	case errors.Is(err, errForeign):
		out.Owner.Silence = "no engine owns the shard"
	case err != nil:
		out.Owner.Silence = postgres.Explain(err).Error()
	case found == nil:
		out.Owner.Silence = "the owner is of another version, and does not know the question"
	default:
		addInspected(&out, found, most)
	}
	return out, nil
}

func (b *Backend) askOwner(ctx context.Context, shard int, req forward.Request) (found *forward.Inspected, err error) {
	ctx, cancel := b.clock.Within(ctx, inspectTimeout)
	defer cancel()
	err = b.locally(ctx, shard, acquireNever, func(sh *shardState) error {
		found = sh.inspectAll(req.IDs, req.Most)
		return nil
	})
	if !errors.Is(err, errForeign) {
		return found, err
	}
	r, err := b.forward(ctx, shard, req, seen(err))
	return r.Inspected, err
}

func addInspected(out *backend.Snapshot, found *forward.Inspected, most int) {
	o := out.Owner
	o.Answered, o.Broken = true, found.Broken
	if o.Adopted = o.Adopted || found.Known; found.Evicted {
		o.EvictedUntil = out.Now.Add(found.EvictedFor)
	}
	for _, r := range found.Runs {
		r.Due = out.Now.Add(r.DueIn)
		out.Runs = append(out.Runs, r.OpenRun)
	}
	out.Barriers = found.Barriers
	pgshow.Arrange(out, most)
}

// inspectAll reads an instance in the shard's memory.
func (sh *shardState) inspectAll(ids []uuid.UUID, most int) *forward.Inspected {
	out := &forward.Inspected{}
	if len(ids) != 1 {
		return out
	}
	now := sh.b.now()
	if p := sh.evicted.by[ids[0]]; p != nil {
		out.Known, out.Evicted, out.EvictedFor = true, true, time.Duration(p.due-now)
		return out
	}
	if err := sh.broken[ids[0]]; err != nil {
		out.Known, out.Broken = true, err.Error()
		return out
	}
	inst := sh.instances[ids[0]]
	if inst == nil {
		return out
	}
	out.Known = true
	for _, r := range inst.RunsInOrder() {
		if len(out.Runs) > most {
			break
		}
		out.Runs = append(out.Runs, forward.InspectedRun{DueIn: time.Duration(r.Due - now), OpenRun: backend.OpenRun{
			Run: r.Key, Attempt: int(r.Attempt), Deliveries: int(r.Counted), Leased: r.Place == state.Leased, Engine: r.Holder,
		}})
	}
	inst.Barriers.Each(func(a state.Address, bar *state.Barrier) {
		if (bar.Completed < bar.Required || bar.Required == 0) && len(out.Barriers) <= most {
			run := graph.Run{Node: graph.NodeID(a.ID), Path: a.Path}
			out.Barriers = append(out.Barriers, backend.OpenBarrier{Run: run, Completed: int(bar.Completed), Required: int(bar.Required)})
		}
	})
	return out
}
