package pgstore

import (
	"context"
	"embed"
	"errors"
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
	"pulley/internal/pgdial"
)

// Host is what a Store stands on: Postgres and the machine's clock, or the simulator with virtual time (D1). All that reaches a
// server uses Pool and Listen; everything that takes time uses Clock.
type Host struct {
	Pool   Pool
	Clock  Clock
	Listen func(context.Context) (ListenConn, error) // opens a connection that does not listen yet; nil: none lasts, and polling must do

	Schema   string
	Name     string                  // unique to the store; used in notifications
	Shards   int                     // of the schema
	Programs map[int32]*plan.Program // stored already, by number; nil: none known
	Problem  func(error)             // see postgres.Config; nil: none
	Jitter   func() float64          // in [0, 1), for pauses and lock timeouts; nil: random

	// CommitSlotRetention is how long unchanged commit slots are kept; zero: the design's default.
	CommitSlotRetention time.Duration
}

// On returns a store on a host whose schema is set up.
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

// SQL returns a shared statement, as it is sent, by its file name.
func SQL(name string) (string, error) { return Statement(statementFiles, name) }

// Statement returns a design's statement by its file name in directory sql.
func Statement(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, "sql/"+name+".sql")
	if err != nil {
		return "", fmt.Errorf("postgres: no statement %s: %w", name, err)
	}
	return string(text), nil
}

// Querier sends requests, each in one round trip. Query itself fails only before anything was sent; later errors are those of the
// rows.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)

	// SendBatch passes the results to the functions of the queued queries when they are closed. A batch without BEGIN is one
	// transaction.
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Pool is a pool of connections. Its own requests use any connection, each in its own transaction.
type Pool interface {
	Querier
	Acquire(ctx context.Context) (Conn, error)
	Close() // waits until all connections are released
}

// Conn is a pooled connection.
type Conn interface {
	Querier
	InTransaction() bool // and usable after a ROLLBACK
	Release()            // closes it within a transaction
}

// Witness is a Conn that receives the events (a list of Applied) of the next statement that applies plans. The simulator's
// connections compare them with what should have been read and planned.
type Witness interface {
	Conn
	Applies(events any)
}

// Applied is an event whose plan a transaction is about to apply, with what was read for it.
type Applied struct {
	Ord             int32 // by which the statement may name it
	Instance        uuid.UUID
	CreatesInstance bool      // it starts the instance
	Run             graph.Run // that has ended or continues
	Token           int64     // of the completion; zero: a continuation
	Lease           int64     // the completion's token, before fencing
	Attempt         int
	Failed          bool
	Inbox           plan.Inbox
	Plan            plan.Plan
}

// AnnounceApplied passes the events of the next statement to a connection that is a Witness.
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

// ListenConn is a listening connection, outside the pool.
type ListenConn interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Next(ctx context.Context) (payload string, err error) // waits for a notification
	PID() uint32                                          // of its server process
	IsClosed() bool
	Close(ctx context.Context) error
}

// Clock is time, and what runs in the background.
type Clock interface {
	// Now never goes back.
	Now() time.Time
	// Within is context.WithTimeout.
	Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// Wait waits for one of at most two channels and returns its index; after the pause it returns TimedOut, after the context's
	// end Ended. A negative pause is infinite.
	Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int
	// Go starts f in the background, later than now.
	Go(f func())
	// NewID returns a unique id.
	NewID() uuid.UUID
}

// Results of Clock.Wait other than an index.
const (
	TimedOut = -1
	Ended    = -2
)

// Signal sends to a channel of capacity one unless it is full.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // the last signal has not been received yet
	}
}

// Machine is the machine's clock.
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

// Go implements Clock. The caller makes sure that f ends.
func (Machine) Go(f func()) { go f() }

// NewID implements Clock.
func (Machine) NewID() uuid.UUID { return uuid.New() }

type pool struct{ *pgxpool.Pool }

func (p pool) Acquire(ctx context.Context) (Conn, error) {
	c, err := p.Pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return pooledConn{c}, nil
}

// transactions is a pool through a pooler of transactions.
type transactions struct{ *pgdial.Transactions }

func (t transactions) Acquire(ctx context.Context) (Conn, error) {
	c, err := t.Transactions.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func openPool(ctx context.Context, link *pgdial.Link) (Pool, error) {
	if link.PoolsTransactions() {
		t, err := link.Transactions(ctx)
		if err != nil {
			return nil, err
		}
		return transactions{t}, nil
	}
	connections, err := link.Pool(ctx)
	if err != nil {
		return nil, err
	}
	return pool{connections}, nil
}

// listening returns what opens listening connections; nil if none lasts.
func listening(link *pgdial.Link) func(context.Context) (ListenConn, error) {
	if !link.Listens() {
		return nil
	}
	return func(ctx context.Context) (ListenConn, error) {
		conn, pid, err := link.Connect(ctx)
		if err != nil {
			return nil, err
		}
		return pgListenConn{conn, pid}, nil
	}
}

// Pgx returns the driver's pool; nil on another host.
func (s *Store) Pgx() *pgxpool.Pool {
	switch p := s.Pool.(type) {
	case pool:
		return p.Pool
	case transactions:
		return p.Transactions.Pool
	}
	return nil
}

// InTransaction calls do with a transaction of the driver's, and commits it. It fails on another host than Postgres.
func (s *Store) InTransaction(ctx context.Context, o pgx.TxOptions, do func(pgx.Tx) error) error {
	switch p := s.Pool.(type) {
	case pool:
		return pgx.BeginTxFunc(ctx, p.Pool, o, do)
	case transactions:
		tx, err := p.Begin(ctx, o)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
		return tx.Commit(ctx)
	}
	return errors.New("this host does not show what it stores")
}

// Transactions returns the pool through a pooler of transactions; nil if there is none.
func (s *Store) Transactions() *pgdial.Transactions {
	t, _ := s.Pool.(transactions)
	return t.Transactions
}

type pooledConn struct{ *pgxpool.Conn }

func (l pooledConn) InTransaction() bool {
	c := l.Conn.Conn()
	return !c.IsClosed() && c.PgConn().TxStatus() != 'I'
}

type pgListenConn struct {
	*pgx.Conn
	pid uint32 // a pooler names another in the handshake
}

func (e pgListenConn) Next(ctx context.Context) (string, error) {
	n, err := e.WaitForNotification(ctx)
	if err != nil {
		return "", err
	}
	return n.Payload, nil
}

func (e pgListenConn) PID() uint32 { return e.pid }
