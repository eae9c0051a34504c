package pgstore

import (
	"context"
	_ "embed" // for the statements
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
)

var (
	//go:embed sql/join.sql
	joinSQL string
	//go:embed sql/leave.sql
	leaveSQL string
	//go:embed sql/peers.sql
	peersSQL string
)

const (
	// peersChanged is notified when an engine joins or leaves. No store has this name.
	peersChanged = "peers"
	// peersTimeout bounds reading and notifying peers. A missed notification is made up for by Refresh.
	peersTimeout = time.Second
	// peersClass is the first key of the advisory lock of peers.
	peersClass = 0x70756c6c
)

// Peers knows the engines that listen to a schema, and which shards each prefers for new instances: if several engines work on
// the same shards, each commits a part of the work there, and many small commits cost more than few.
//
// Each engine holds a shared advisory lock on its listening connection, and leaves when that ends: nothing is written, and no
// failure detection is needed. Engines count the holders and find their rank. A count may be old, or missing if a server or
// pooler has no such locks; any engine may use any shard, so that costs only commits. Peers is safe for concurrent use.
type Peers struct {
	store *Store
	place atomic.Pointer[place]
}

type place struct {
	pid      uint32 // of its listening connection
	rank, of int    // rank counts from 0
}

// NewPeers returns the peers of one engine. It knows none until it listens.
func NewPeers(s *Store) *Peers { return &Peers{store: s} }

// Prefers reports whether this engine should create instances in a shard. Some engine prefers each shard; an engine alone prefers
// all.
func (p *Peers) Prefers(shard int) bool {
	at := p.place.Load()
	switch {
	case at == nil || at.of < 2:
		return true
	case at.of < p.store.shards:
		return shard%at.of == at.rank
	}
	return shard == at.rank%p.store.shards
}

// Listen is Store.Listen, during which other engines see this one.
func (p *Peers) Listen(ctx context.Context, wake func()) error {
	defer p.place.Store(nil)
	return p.store.listen(ctx, func(conn ListenConn) error {
		p.place.Store(&place{pid: conn.PID()})
		_, err := conn.Exec(ctx, joinSQL, peersClass, p.key(), p.store.channel(), peersChanged)
		return err
	}, func(conn ListenConn, payload string) {
		if payload != peersChanged {
			wake()
			return
		}
		ctx, cancel := p.detach(ctx)
		defer cancel()
		p.store.Problem(ctx, "looking for other engines", p.refresh(ctx, conn)) // on an error the old place stays
	}, func(conn ListenConn) {
		ctx, cancel := p.detach(ctx)
		defer cancel()
		_, _ = conn.Exec(ctx, leaveSQL, peersClass, p.key(), p.store.channel(), peersChanged)
	})
}

// detach returns a context that the end of Listen does not cancel: that would close the connection.
func (p *Peers) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return p.store.Clock.Within(context.WithoutCancel(ctx), peersTimeout)
}

// Refresh counts the engines. An engine that was killed notifies nobody.
func (p *Peers) Refresh(ctx context.Context) error { return p.refresh(ctx, p.store.Pool) }

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (p *Peers) refresh(ctx context.Context, q querier) error {
	at := p.place.Load()
	if at == nil {
		return nil // not listening
	}
	now := place{pid: at.pid}
	if err := q.QueryRow(ctx, peersSQL, peersClass, p.key(), int32(at.pid)).Scan(&now.of, &now.rank); err != nil {
		return postgres.Explain(err)
	}
	p.place.CompareAndSwap(at, &now)
	return nil
}

// key hashes the schema. A clash costs no more than an unknown place.
func (p *Peers) key() int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.store.Schema))
	return int32(h.Sum32())
}
