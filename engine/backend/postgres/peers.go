package postgres

import (
	"context"
	_ "embed" // of the statements
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
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
	// peersChanged is told when an engine comes or goes; a store's name is never that.
	peersChanged = "peers"
	// peersTimeout bounds looking for others, and telling them of an end. Who is not told sees it when he looks.
	peersTimeout = time.Second
	// peersClass begins the key of the lock by which engines see each other.
	peersClass = 0x70756c6c
)

// Peers knows the engines that listen to a schema, and which shards each is to prefer for what is new: where several
// work on the same shards, each commits a part of what is to be done there, and many small commits cost more than few.
//
// Each holds a lock, shared by all, on the connection that listens, and so is gone when that is: nothing is written, and
// nobody has to be declared dead. All count the holders, and find their own place among them. What is known may be old,
// or nothing where a server or what stands before it has no such locks; any shard will do for any engine, so that this
// costs nothing but commits. It is safe for concurrent use.
type Peers struct {
	store *Store
	place atomic.Pointer[place]
}

// place is where an engine stands among all.
type place struct {
	pid      uint32 // of the server's process for the connection that listens
	rank, of int    // counted from 0
}

// NewPeers is for one engine; nothing is known before it listens.
func NewPeers(s *Store) *Peers { return &Peers{store: s} }

// Prefers says whether new instances of a shard are this engine's part. The parts of all have all shards; those of an
// engine that is alone, too.
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

// Listen is Store.Listen, and has others see this engine meanwhile.
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
		p.store.Problem(ctx, "looking for other engines", p.refresh(ctx, conn)) // without it, what was known before serves
	}, func(conn ListenConn) {
		ctx, cancel := p.detach(ctx)
		defer cancel()
		_, _ = conn.Exec(ctx, leaveSQL, peersClass, p.key(), p.store.channel(), peersChanged)
	})
}

// detach is for what the end of Listen does not interrupt, which would take the connection with it.
func (p *Peers) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return p.store.Clock.Within(context.WithoutCancel(ctx), peersTimeout)
}

// Refresh finds out who is here. Nobody tells of an engine that died.
func (p *Peers) Refresh(ctx context.Context) error { return p.refresh(ctx, p.store.Pool) }

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (p *Peers) refresh(ctx context.Context, q querier) error {
	at := p.place.Load()
	if at == nil {
		return nil // it does not listen
	}
	now := place{pid: at.pid}
	if err := q.QueryRow(ctx, peersSQL, peersClass, p.key(), int32(at.pid)).Scan(&now.of, &now.rank); err != nil {
		return Explain(err)
	}
	p.place.CompareAndSwap(at, &now)
	return nil
}

// key tells the schema from others. A clash costs no more than not to know.
func (p *Peers) key() int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.store.Schema))
	return int32(h.Sum32())
}
