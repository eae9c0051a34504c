package journal

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
)

type server struct {
	journalstore.Store
	Pool journalstore.Pool
}

type pool struct{ *pgxpool.Pool }

// Prepared implements journalstore.Pool.
func (p pool) Prepared(ctx context.Context, list ...journalstore.Prepared) ([]*pgconn.Result, error) {
	shared, err := p.Acquire(ctx)
	if err != nil {
		return nil, journalstore.NotSent(err)
	}
	defer shared.Release()
	conn := shared.Conn()
	for i := range list {
		if _, err := conn.Prepare(ctx, list[i].Name, list[i].SQL); err != nil {
			return nil, journalstore.NotSent(err)
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

func (b *Backend) pause(ctx context.Context, pause time.Duration) bool {
	return b.clock.Wait(ctx, pause) == pgstore.TimedOut
}
