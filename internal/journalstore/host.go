package journalstore

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Host is what a journal.Backend runs on: Postgres and the machine's clock, or the simulator, which runs the same code in virtual
// time (D1).
type Host struct {
	Store Store
	Pool  Pool
	Clock pgstore.Clock

	// Leased, if not nil, receives each lease before anything else does.
	Leased func(instance uuid.UUID, run graph.Run, token int64, attempt, deliveries int)

	// LeaseReturned, if not nil, receives each returned lease, and how many deliveries of the attempt then count.
	LeaseReturned func(instance uuid.UUID, run graph.Run, left int)
}

// Store is the part of pgstore.Store that the design uses.
type Store interface {
	Shards() int
	Number(ctx context.Context, p *plan.Program) (int32, error)
	Program(ctx context.Context, number int32) (*plan.Program, error)
	Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error)
	Incarnation(ctx context.Context) (string, error)
	Outlived(life string)
	Retry(ctx context.Context, doing, remedy string, try func() error) error
	Channel(topic string) string
	Listen(ctx context.Context, wake func()) error
	ListenTo(ctx context.Context, topic string, heard func(payload string)) error
	Notify(ctx context.Context) error
	Problem(ctx context.Context, doing string, err error)
	Close()
}

// Pool is a pool of connections. Each call is one round trip and one transaction.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)

	// Prepared executes prepared statements and returns the results of those executed, valid until the next call. An error before
	// anything was sent is wrapped by NotSent.
	Prepared(ctx context.Context, list ...Prepared) ([]*pgconn.Result, error)
}

// Prepared is a prepared statement; its parameters and results are binary.
type Prepared struct {
	Name, SQL string
	Params    [][]byte
	Appending Appending // what the statement appends; nil: it is no append
}

// NotSent marks an error before anything was sent: nothing was applied.
func NotSent(err error) error { return notSent{err} }

type notSent struct{ err error }

func (e notSent) Error() string { return e.err.Error() }
func (e notSent) Unwrap() error { return e.err }

// IsNotSent reports whether NotSent has marked an error.
func IsNotSent(err error) bool {
	var n notSent
	return errors.As(err, &n)
}

var _ Store = (*pgstore.Store)(nil)
