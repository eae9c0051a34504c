package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Host is what a Store stands on. Open gives it Postgres and the machine's clock; the simulator has a host of its own,
// and drives the same code in a world of virtual time (D1). All that a design asks of a server goes through Pool and
// Listen, and time, and whatever takes any, through Clock.
type Host struct {
	Pool   Pool
	Clock  Clock
	Listen func(context.Context) (ListenConn, error) // opens a connection that hears nothing yet

	Schema   string
	Name     string                  // of this store among all, in notifications
	Shards   int                     // of the schema
	Programs map[int32]*plan.Program // that are stored already, by number; nil: none is known to be
	Problem  func(error)             // see Config; nil: nobody is told
	Jitter   func() float64          // in [0, 1), for the waits before retries and for locks; nil: random

	// CommitSlotRetention is how long commit slots are kept that are not changed any more; zero: as long as the design says.
	CommitSlotRetention time.Duration
}

// On makes a store on a host, whose schema is set up.
func On(h Host) *Store {
	s := &Store{
		Pool: h.Pool, Clock: h.Clock, Jitter: h.Jitter, CommitSlotRetention: h.CommitSlotRetention, Schema: h.Schema, name: h.Name, dial: h.Listen, problem: h.Problem, shards: h.Shards,
		numbers: map[[32]byte]int32{}, programs: map[int32]*plan.Program{},
	}
	if s.Jitter == nil {
		s.Jitter = rand.Float64
	}
	for number, p := range h.Programs {
		s.remember(number, p)
	}
	return s
}

//go:embed sql/*.sql sql/queue/*.sql sql/cleanup/*.sql
var statementFiles embed.FS

// SQL gives a statement that designs share, as it is sent, by the name of its file.
func SQL(name string) (string, error) { return Statement(statementFiles, name) }

// Statement gives a statement of a design, by the name of its file among those in its directory sql.
func Statement(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, "sql/"+name+".sql")
	if err != nil {
		return "", fmt.Errorf("postgres: no statement %s: %w", name, err)
	}
	return string(text), nil
}

// Querier asks a server, one round trip for each call. An error of Query is one before anything was sent; later ones are
// those of the rows.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)

	// SendBatch has the results given to the functions of the queued queries when they are closed. Without a BEGIN of its
	// own it is one transaction.
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Pool is a pool of connections. What it is asked itself is done on any of them, and is a transaction of its own.
type Pool interface {
	Querier
	Acquire(ctx context.Context) (Conn, error)
	Close() // when all connections have been released
}

// Conn is a connection that a pool has lent.
type Conn interface {
	Querier
	InTransaction() bool // and still there: a ROLLBACK will make it usable again
	Release()            // one inside of a transaction is closed
}

// Witness is a Conn that wants to know what the next statement stands for which applies plans: events, a list of Applied.
// The simulator's do, and hold what was read and planned against what should have been.
type Witness interface {
	Conn
	Applies(events any)
}

// Applied is an event whose plan a transaction is about to apply, with what was read for it.
type Applied struct {
	Ord             int32 // by which the statement names it, where it does
	Instance        uuid.UUID
	CreatesInstance bool      // it is the instance's beginning
	Run             graph.Run // that has ended, or goes on
	Token           int64     // of the completion; zero: it goes on because of another event of the transaction
	Lease           int64     // the token with which it was offered, before one was fenced
	Attempt         int
	Failed          bool
	Inbox           plan.Inbox
	Plan            plan.Plan
}

// AnnounceApplied tells a connection that is a Witness which events the next statement applies.
func AnnounceApplied[E any](on Conn, events []E, applied func(E) Applied) {
	witness, ok := on.(Witness)
	if !ok {
		return
	}
	list := make([]Applied, len(events))
	for i, e := range events {
		list[i] = applied(e)
	}
	witness.Applies(list)
}

// ListenConn is a connection of its own that can listen.
type ListenConn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Next(ctx context.Context) (payload string, err error) // waits for a notification of what it listens to
	PID() uint32                                          // of the server's process for it
	IsClosed() bool
	Close(ctx context.Context) error
}

// Clock is time, and what goes on in it beside the calls.
type Clock interface {
	// Now never goes back.
	Now() time.Time
	// Within is context.WithTimeout.
	Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Wait waits until something can be received from one of at most two channels, and gives its place; or until a pause
	// is over, or the context has ended, and gives Rested or Ended. A pause below zero has no end.
	Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int
	// Go begins something beside the calls, later than now.
	Go(f func())
	// NewID gives an id that nobody else has.
	NewID() uuid.UUID
}

// What Clock.Wait gives besides a place.
const (
	TimedOut = -1
	Ended    = -2
)

// Signal tells whoever waits for a channel, which has room for one, that there is something new.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the last one has not been seen yet
	}
}

// Machine is the clock of the machine.
type Machine struct{}

// Now implements Clock.
func (Machine) Now() time.Time { return time.Now() }

// Within implements Clock.
func (Machine) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Wait implements Clock.
func (Machine) Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int {
	var first, second <-chan struct{}
	if len(from) > 0 {
		first = from[0]
	}
	if len(from) > 1 {
		second = from[1]
	}
	var over <-chan time.Time
	if pause >= 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-first:
		return 0
	case <-second:
		return 1
	case <-over:
		return TimedOut
	case <-ctx.Done():
		return Ended
	}
}

// Go implements Clock. Who calls it has f end.
func (Machine) Go(f func()) { go f() }

// NewID implements Clock.
func (Machine) NewID() uuid.UUID { return uuid.New() }

// pool is a pool of connections to Postgres.
type pool struct{ *pgxpool.Pool }

// Acquire implements Pool.
func (p pool) Acquire(ctx context.Context) (Conn, error) {
	c, err := p.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return pooledConn{c}, nil
}

// Pgx gives the driver's pool, for what only that can do; nil where the store stands on another host.
func (s *Store) Pgx() *pgxpool.Pool {
	p, _ := s.Pool.(pool)
	return p.Pool
}

// pooledConn is a connection to Postgres.
type pooledConn struct{ *pgxpool.Conn }

// InTransaction implements Conn.
func (l pooledConn) InTransaction() bool {
	c := l.Conn.Conn()
	return !c.IsClosed() && c.PgConn().TxStatus() != 'I'
}

// pgListenConn is a connection to Postgres outside of the pool.
type pgListenConn struct{ *pgx.Conn }

// Next implements Ear.
func (e pgListenConn) Next(ctx context.Context) (string, error) {
	n, err := e.WaitForNotification(ctx)
	if err != nil {
		return "", err
	}
	return n.Payload, nil
}

// PID implements Ear.
func (e pgListenConn) PID() uint32 { return e.PgConn().PID() }
