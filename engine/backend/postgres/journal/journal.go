package journal

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/graph"
	"pulley/internal/journalstore"
	"pulley/internal/limitstore"
	"pulley/internal/pgstore"
	"pulley/internal/schedulestore"
	"pulley/internal/signalstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	//go:embed sql/append.sql
	appendSQL string
	//go:embed sql/submit_pending.sql
	submitPendingSQL string
	//go:embed sql/adopt.sql
	adoptSQL string
	//go:embed sql/make_shards.sql
	insertShardsSQL string
	//go:embed sql/load_instances.sql
	loadInstancesSQL string
	//go:embed sql/load_events.sql
	loadEventsSQL string
	//go:embed sql/load_evicted.sql
	loadEvictedSQL string
	//go:embed sql/load_named.sql
	loadNamedSQL string
	//go:embed sql/resolve.sql
	resolveSQL string
	//go:embed sql/absent.sql
	absentSQL string
	//go:embed sql/drop_range.sql
	dropRangeSQL string
	//go:embed sql/drop_some.sql
	dropSomeSQL string
	//go:embed sql/mark_request.sql
	markRequestSQL string
	//go:embed sql/cancel_free.sql
	cancelFreeSQL string
	//go:embed sql/leftovers.sql
	leftoversSQL string
)

// DefaultSchema is used if Config names no schema.
const DefaultSchema = "pulley_journal"

// DefaultLease is used if Config.Lease is zero.
const DefaultLease = 10 * time.Second

// DefaultEvictAfter is used if Config.EvictAfter is zero.
const DefaultEvictAfter = 5 * time.Second

// DefaultMemory is the number of bytes used if Config.Memory is zero.
const DefaultMemory = 1 << 30

// ErrClosed is the error of a call on a closed backend.
var ErrClosed = errors.New("journal: the backend is closed; open another one")

// Config configures a Backend.
type Config struct {
	Store  postgres.Config // an empty Schema means DefaultSchema
	Jitter func() float64  // in [0, 1), for the pauses before retries; nil: random

	// Lease is the minimal lease on a shard. Once longer leases are granted on node runs, the shard's is an eighth longer than
	// the longest of them. From 100 ms to 1 h; zero: DefaultLease.
	Lease time.Duration

	// Memory bounds the estimated bytes of running instances. Beyond it new instances are stored, and started when others have
	// ended. At least 1 MiB; zero: DefaultMemory.
	Memory int

	// EvictAfter is how long an instance with nothing ready or leased must wait for its next node run to be evicted. At least 10
	// ms; zero: DefaultEvictAfter.
	EvictAfter time.Duration
}

func (c Config) validate() error {
	if c.Lease != 0 && (c.Lease < 100*time.Millisecond || c.Lease > time.Hour) {
		return fmt.Errorf("journal: Lease is %s, must be from 100ms to 1h", c.Lease)
	}
	if c.Memory != 0 && c.Memory < 1<<20 {
		return fmt.Errorf("journal: Memory is %d, must be at least 1 MiB", c.Memory)
	}
	if c.EvictAfter != 0 && c.EvictAfter < 10*time.Millisecond {
		return fmt.Errorf("journal: EvictAfter is %s, must be at least 10ms", c.EvictAfter)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Store.Schema == "" {
		c.Store.Schema = DefaultSchema
	}
	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.EvictAfter == 0 {
		c.EvictAfter = DefaultEvictAfter
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	return c
}

// Backend is the journal; see the package comment.
type Backend struct {
	schedulestore.Table
	signalstore.SignalTable
	limitstore.LimitTable
	store         server
	desk          *forward.Forwarder
	owners        *ownership.Registry
	clock         pgstore.Clock
	leased        func(id uuid.UUID, run graph.Run, token int64, attempt, deliveries int) // reports each lease; may be nil
	leaseReturned func(id uuid.UUID, run graph.Run, left int)                             // reports each returned lease; may be nil
	jitter        func() float64
	lease         time.Duration // of a shard; the minimum
	span          atomic.Int64  // a shard's lease in ns: longer than any lease granted on a node run
	begun         time.Time     // the zero of its clock
	shards        []*shardState

	workHeardAt atomic.Int64 // last notification of work for which another engine has no capacity
	claimed     atomic.Int64 // time of the last claim; zero: never
	fair        atomic.Int32 // how many shards are its share

	evictAfter time.Duration
	bytesMax   int
	bytes      atomic.Int64 // of all shards' instances, as of each shard's last call

	mu              sync.Mutex
	wakers          map[*waker]struct{}
	background      context.Context
	stop            context.CancelFunc
	tasks           atomic.Int32
	backgroundEnded chan struct{} // one of them has ended
	started         bool
	closed          bool
	requestHeard    chan struct{} // a request arrived
	peersChanged    chan struct{} // an engine has started or exited
}

type waker struct{ wake func() }

var (
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Listener  = (*Backend)(nil)
	_ backend.Canceler  = (*Backend)(nil)
	_ backend.Placer    = (*Backend)(nil)
	_ backend.Scheduler = (*Backend)(nil)
)

// Open connects to Postgres and creates the schema if needed.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, pgstore.OpenTimeout)
	defer cancel()
	store, err := pgstore.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	if _, err := store.Pool.Exec(ctx, insertShardsSQL); err != nil && !pgstore.MayOnlyRead(err) {
		store.Close()
		return nil, postgres.Explain(err)
	}
	b := newBackend(cfg, journalstore.Host{Store: store, Pool: poolOf(store), Clock: store.Clock})
	b.Table, b.LimitTable, b.SignalTable = schedulestore.On(store), limitstore.On(store), signalstore.On(store)
	return b, nil
}

// On makes a backend on a host whose schema exists. It is for the simulator: a program outside of this module cannot have such a
// host.
func On(h journalstore.Host, cfg Config) (*Backend, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return newBackend(cfg.withDefaults(), h), nil
}

func newBackend(cfg Config, h journalstore.Host) *Backend {
	b := &Backend{
		store: server{h.Store, h.Pool}, clock: h.Clock, leased: h.Leased, leaseReturned: h.LeaseReturned,
		jitter: cfg.Jitter, lease: cfg.Lease, begun: h.Clock.Now(),
		bytesMax: cfg.Memory, evictAfter: cfg.EvictAfter, backgroundEnded: make(chan struct{}, 1),
		wakers: map[*waker]struct{}{}, requestHeard: make(chan struct{}, 1), peersChanged: make(chan struct{}, 1),
	}
	b.span.Store(int64(cfg.Lease))
	b.background, b.stop = context.WithCancel(context.Background())
	b.desk = &forward.Forwarder{Store: h.Store, Pool: h.Pool, Clock: h.Clock, Channel: h.Store.Channel(topic), Context: b.background}
	b.owners = &ownership.Registry{Pool: h.Pool, Name: h.Clock.NewID().String(), Channel: h.Store.Channel(topic), PeersChanged: engines}
	b.fair.Store(int32(h.Store.Shards()))
	for i := range h.Store.Shards() {
		b.shards = append(b.shards, newShard(b, i))
	}
	return b
}

// now returns the time since begun in nanoseconds. It never goes back.
func (b *Backend) now() int64 { return int64(b.clock.Now().Sub(b.begun)) }

func (b *Backend) wall(at int64) time.Time { return b.begun.Add(time.Duration(at)) }

// Shards implements backend.Backend.
func (b *Backend) Shards() int { return len(b.shards) }

// Close implements backend.Backend. It returns the owned shards at once, with the leases on their node runs.
func (b *Backend) Close() {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.awaitBackground()
	if closed {
		return
	}
	ctx, cancel := b.clock.Within(context.Background(), closeTimeout)
	defer cancel()
	for _, sh := range b.shards {
		if sh.lock(ctx) != nil {
			continue
		}
		b.store.Problem(ctx, "giving a shard back", sh.release(ctx)) // on an error the shard is free when its lease expires
		sh.unlock()
	}
	if b.claimed.Load() > 0 {
		b.store.Problem(ctx, "telling other engines of the end", b.owners.Forget(ctx))
	}
	b.store.Close()
}

func (b *Backend) usable(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	return ctx.Err()
}

func (b *Backend) check(ctx context.Context, shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, len(b.shards)); err != nil {
		return err
	}
	if err := grant.Check(); err != nil {
		return err
	}
	return b.usable(ctx)
}

// IsLocal implements backend.Placer: an engine that owns shards places new instances there.
func (b *Backend) IsLocal(shard int) bool {
	return b.shards[shard].epoch.Load() != 0 || len(b.ownedShards()) == 0
}

// Lookup implements backend.Backend.
func (b *Backend) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	return b.store.Lookup(ctx, ids)
}

// Listen implements backend.Listener. It also wakes when another engine stores instances in a shard of this one.
func (b *Backend) Listen(ctx context.Context, wake func()) error {
	w := &waker{wake}
	b.mu.Lock()
	b.wakers[w] = struct{}{}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.wakers, w)
		b.mu.Unlock()
	}()
	return b.store.Listen(ctx, func() {
		b.workHeardAt.Store(b.now())
		wake()
	})
}

func (b *Backend) wakeAll() bool {
	b.mu.Lock()
	wakers := make([]*waker, 0, len(b.wakers))
	for w := range b.wakers {
		wakers = append(wakers, w)
	}
	b.mu.Unlock()
	for _, w := range wakers {
		w.wake()
	}
	return len(wakers) > 0
}

// Notify implements backend.Listener.
func (b *Backend) Notify(ctx context.Context) error { return b.store.Notify(ctx) }

// Leftovers counts the rows of each table that belong to ended instances, for tests of I10 and for scans.
func (b *Backend) Leftovers(ctx context.Context) (map[string]int, error) {
	rows, err := b.store.Pool.Query(ctx, leftoversSQL)
	if err != nil {
		return nil, postgres.Explain(err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var table string
		var n int
		if err := rows.Scan(&table, &n); err != nil {
			return nil, postgres.Explain(err)
		}
		if n > 0 {
			out[table] = n
		}
	}
	return out, postgres.Explain(rows.Err())
}

// TakesTurns implements backend.TurnTaker.
func (b *Backend) TakesTurns() {}

// OrdersByPriority implements backend.Prioritizer.
func (b *Backend) OrdersByPriority() {}
