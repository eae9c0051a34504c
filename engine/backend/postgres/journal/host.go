package journal

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Host is what a Backend runs on: Postgres and the machine's clock, or the simulator, which runs the same code in virtual time
// (D1).
type Host struct {
	Store Store
	Pool  Pool
	Clock Clock

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
	tx        *tx // of an append
}

// Clock provides time, and goroutines in it.
type Clock = pgstore.Clock

// Results of Clock.Wait other than a channel's index.
const (
	TimedOut = pgstore.TimedOut
	Ended    = pgstore.Ended
)

type server struct {
	Store
	Pool Pool
}

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

// NotSent marks an error before anything was sent: nothing was applied.
func NotSent(err error) error { return notSent{err} }

func (b *Backend) runInBackground(f func()) {
	b.tasks.Add(1)
	b.clock.Go(func() {
		defer func() {
			b.tasks.Add(-1)
			pgstore.Signal(b.backgroundEnded)
		}()
		f()
	})
}

func (b *Backend) awaitBackground() {
	for b.tasks.Load() > 0 {
		b.clock.Wait(context.Background(), -1, b.backgroundEnded)
	}
}

// pause waits, and reports whether ctx is still open.
func (b *Backend) pause(ctx context.Context, pause time.Duration) bool {
	return b.clock.Wait(ctx, pause) == TimedOut
}

var _ Store = (*pgstore.Store)(nil)
