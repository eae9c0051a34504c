package journal

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Host is what a Backend stands on. Open gives it Postgres and the machine's clock; the simulator has a host of its own,
// and drives the same code in a world of virtual time (D1).
type Host struct {
	Store Store
	Pool  Pool
	Clock Clock

	// Leased is told of each lease that is given in memory, before anybody else is; nil: nobody.
	Leased func(instance uuid.UUID, run graph.Run, token int64, attempt, deliveries int)

	// LeaseReturned is told of each lease that its holder returns, and how many deliveries of the attempt count then; nil: nobody.
	LeaseReturned func(instance uuid.UUID, run graph.Run, left int)
}

// Store is what designs on Postgres share, as package postgres has it.
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

// Pool is a pool of connections. Each of its calls is one round trip, and one transaction.
type Pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)

	// Prepared makes prepared statements and gives their results as far as it came. The values are the pool's until the
	// next call. An error before anything was sent is wrapped by NotSent.
	Prepared(ctx context.Context, list ...Prepared) ([]*pgconn.Result, error)
}

// Prepared is a prepared statement with its parameters; they, and its results, are binary.
type Prepared struct {
	Name, SQL string
	Params    [][]byte
	tx        *tx // of an append
}

// Clock is time, and what goes on in it beside the calls.
type Clock = postgres.Clock

// What Clock.Wait gives besides a place.
const (
	TimedOut = postgres.TimedOut
	Ended    = postgres.Ended
)

// server is a store with its pool.
type server struct {
	Store
	Pool Pool
}

// pool is a pool of connections to Postgres.
type pool struct{ *pgxpool.Pool }

// Prepared implements Pool.
func (p pool) Prepared(ctx context.Context, list ...Prepared) ([]*pgconn.Result, error) {
	shared, err := p.Acquire(ctx)
	if err != nil {
		return nil, notSent{err}
	}
	defer shared.Release()
	conn := shared.Conn()
	for i := range list {
		if _, err := conn.Prepare(ctx, list[i].Name, list[i].SQL); err != nil {
			return nil, notSent{err}
		}
	}
	if len(list) == 1 {
		result := conn.PgConn().ExecPrepared(ctx, list[0].Name, list[0].Params, binaryFormat, binaryFormat).Read()
		return []*pgconn.Result{result}, result.Err
	}
	var batch pgconn.Batch
	for i := range list {
		batch.ExecPrepared(list[i].Name, list[i].Params, binaryFormat, binaryFormat)
	}
	return conn.PgConn().ExecBatch(ctx, &batch).ReadAll()
}

// NotSent marks an error before anything was sent: nothing was applied, whatever it was.
func NotSent(err error) error { return notSent{err} }

// runInBackground begins something that goes on until the backend is closed.
func (b *Backend) runInBackground(f func()) {
	b.tasks.Add(1)
	b.clock.Go(func() {
		defer func() {
			b.tasks.Add(-1)
			postgres.Signal(b.backgroundEnded)
		}()
		f()
	})
}

// awaitBackground waits until nothing goes on beside the calls.
func (b *Backend) awaitBackground() {
	for b.tasks.Load() > 0 {
		b.clock.Wait(context.Background(), -1, b.backgroundEnded)
	}
}

// pause waits, and says whether the context still lives.
func (b *Backend) pause(ctx context.Context, pause time.Duration) bool {
	return b.clock.Wait(ctx, pause) == TimedOut
}

var _ Store = (*postgres.Store)(nil)
