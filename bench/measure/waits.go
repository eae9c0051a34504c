package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/internal/pause"
	"pulley/reports/record"
)

// Snapshot does not count this application name as foreign.
const samplerName = "pulley measure"

// ActivitySampler samples what the sessions of a running workload wait for. It is not safe for concurrent use.
type ActivitySampler struct{ conn *pgx.Conn }

// NewActivitySampler opens a session. Close ends it.
func NewActivitySampler(ctx context.Context, dsn string) (*ActivitySampler, error) {
	conn, err := Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return &ActivitySampler{conn: conn}, nil
}

// Connect opens a session that no snapshot counts as foreign.
func Connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = samplerName
	return pgx.ConnectConfig(ctx, cfg)
}

// Watch samples the sessions whose application names begin with prefix while work runs, and returns work's error. All samples
// are in one transaction that begins before work and ends after it, so that snapshots which work takes do not count it.
func (l *ActivitySampler) Watch(ctx context.Context, prefix string, every time.Duration, work func() error) (record.Waits, error) {
	var seen record.Waits
	sample := func(ctx context.Context, tx pgx.Tx) error { return sampleActivity(ctx, tx, prefix, &seen) }
	err := l.during(ctx, every, sample, work)
	return seen, err
}

// Look is one sample of what sessions wait for.
type Look struct {
	At   time.Time
	Took time.Duration
	// Sessions counts those that were not idle, by type and event as Postgres names them: "LWLock:WALWrite". A session that waits
	// for nothing is record.WaitRunning.
	Sessions map[string]int64
}

// WatchEvents calls seen with each sample of the sessions whose application names begin with prefix, from one goroutine, while work
// runs. It returns work's error. Like Watch's, the samples are in one transaction.
func (l *ActivitySampler) WatchEvents(ctx context.Context, prefix string, every time.Duration, seen func(Look), work func() error) error {
	sample := func(ctx context.Context, tx pgx.Tx) error {
		look, err := sampleEvents(ctx, tx, prefix)
		if err == nil {
			seen(look)
		}
		return err
	}
	return l.during(ctx, every, sample, work)
}

// during takes samples while work runs.
func (l *ActivitySampler) during(ctx context.Context, every time.Duration, sample func(context.Context, pgx.Tx) error, work func() error) error {
	tx, err := l.conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("measure: look at sessions: %w", err)
	}
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- watch(watching, tx, every, sample) }()
	worked := work()
	stop()
	looked := <-ended
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), sampleTimeout)
	defer cancel()
	looked = errors.Join(looked, tx.Rollback(ending))
	if worked == nil && looked != nil {
		worked = fmt.Errorf("measure: look at sessions: %w", looked)
	}
	return worked
}

// Close ends the session.
func (l *ActivitySampler) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	return l.conn.Close(ctx)
}

const sampleTimeout = 30 * time.Second

func watch(ctx context.Context, tx pgx.Tx, every time.Duration, sample func(context.Context, pgx.Tx) error) error {
	for range pause.Ticks(ctx, every) {
		// A sample under way is not cancelled: that would cost the connection.
		if err := sample(context.WithoutCancel(ctx), tx); err != nil {
			return err
		}
	}
	return nil
}

func sampleActivity(ctx context.Context, tx pgx.Tx, prefix string, seen *record.Waits) error {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	var busy, waiting, longest int64
	batch := &pgx.Batch{}
	batch.Queue(query("fresh")) // within a transaction the view is cached
	batch.Queue(query("waits"), prefix).QueryRow(func(row pgx.Row) error { return row.Scan(&busy, &waiting, &longest) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if busy > 0 {
		seen.Looks++
	}
	seen.Busy, seen.ForRows = seen.Busy+busy, seen.ForRows+waiting
	seen.LongestNS = max(seen.LongestNS, longest*int64(time.Microsecond))
	return nil
}

// LookAt is one sample of what the sessions of conn's database wait for whose application names begin with prefix.
func LookAt(ctx context.Context, conn *pgx.Conn, prefix string) (Look, error) {
	return sampleEvents(ctx, conn, prefix)
}

// batcher is a session, or a transaction of it.
type batcher interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func sampleEvents(ctx context.Context, tx batcher, prefix string) (Look, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	look := Look{At: time.Now(), Sessions: map[string]int64{}}
	batch := &pgx.Batch{}
	batch.Queue(query("fresh"))
	batch.Queue(query("events"), prefix).Query(func(rows pgx.Rows) error {
		var event *string
		var sessions int64
		_, err := pgx.ForEachRow(rows, []any{&event, &sessions}, func() error {
			name := record.WaitRunning
			if event != nil {
				name = *event
			}
			look.Sessions[name] += sessions
			return nil
		})
		return err
	})
	err := tx.SendBatch(ctx, batch).Close()
	look.Took = time.Since(look.At)
	return look, err
}
