package pressure

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
	"pulley/scenarios"
)

var (
	//go:embed sql/tables.sql
	tablesSQL string
	//go:embed sql/hold.sql
	holdSQL string
	//go:embed sql/held.sql
	heldSQL string
)

// Application is the application name of the pressing sessions.
const Application = "pulley pressure"

const (
	callWithin = 30 * time.Second // of each server call but a reading
	readEvery  = 100 * time.Millisecond
)

// Site is the store under pressure.
type Site struct {
	DSN    string
	Schema string // of its tables

	// Store stores so many instances that sleep for hours. Nil if Pressure.Sleepers is zero.
	Store func(ctx context.Context, sleepers int) error
}

// Running is an active pressure. It is not safe for concurrent use.
type Running struct {
	cfg  scenarios.Pressure
	dsn  string
	far  *pgwire.Proxy
	held *pgx.Conn

	cancel  context.CancelFunc
	readers sync.WaitGroup
	reads   []*atomic.Int64
	mu      sync.Mutex
	failed  error
}

// Start puts a store under pressure. The caller must call Stop.
func Start(ctx context.Context, cfg scenarios.Pressure, site Site) (*Running, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("pressure: %w", err)
	}
	r := &Running{cfg: cfg, dsn: site.DSN, cancel: func() {}}
	for _, step := range []struct {
		wanted bool
		do     func(context.Context, Site) error
	}{
		{cfg.Sleepers > 0, r.store}, {cfg.HeldTransaction, r.hold}, {cfg.Readers > 0, r.read}, {cfg.RoundTrip > 0 || cfg.Relayed, r.stretch},
	} {
		if !step.wanted {
			continue
		}
		if err := step.do(ctx, site); err != nil {
			_, _ = r.Stop(context.WithoutCancel(ctx))
			return nil, fmt.Errorf("pressure: %w", err)
		}
	}
	return r, nil
}

// DSN is the engines' connection string.
func (r *Running) DSN() string { return r.dsn }

// ReadByAll is the number of times that every reader has read all tables.
func (r *Running) ReadByAll() int64 {
	least := int64(math.MaxInt64)
	for _, count := range r.reads {
		least = min(least, count.Load())
	}
	return least
}

func (r *Running) store(ctx context.Context, site Site) error {
	if err := site.Store(ctx, r.cfg.Sleepers); err != nil {
		return fmt.Errorf("storing instances that sleep: %w", err)
	}
	return nil
}

func (r *Running) hold(ctx context.Context, site Site) (err error) {
	if r.held, err = connect(ctx, site.DSN); err != nil {
		return err
	}
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", holdSQL} {
		if _, err := r.held.Exec(ctx, sql); err != nil {
			return fmt.Errorf("holding a transaction open: %w", err)
		}
	}
	return nil
}

func (r *Running) stretch(_ context.Context, site Site) (err error) {
	if r.far, err = pgwire.ListenFar(site.DSN, r.cfg.RoundTrip); err == nil {
		r.dsn = r.far.DSN()
	}
	return err
}

func (r *Running) read(ctx context.Context, site Site) error {
	reading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	for range r.cfg.Readers {
		conn, err := connect(ctx, site.DSN)
		if err != nil {
			return err
		}
		count := new(atomic.Int64)
		r.reads = append(r.reads, count)
		r.readers.Go(func() {
			if err := r.keepReading(reading, conn, site.Schema, count); err != nil && reading.Err() == nil {
				r.mu.Lock()
				r.failed = errors.Join(r.failed, err)
				r.mu.Unlock()
			}
			hangUp(conn)
		})
	}
	return nil
}

func (r *Running) keepReading(ctx context.Context, conn *pgx.Conn, schema string, count *atomic.Int64) error {
	for range pause.Tries(ctx, cmp.Or(r.cfg.ReadEvery, readEvery)) {
		if err := readTables(ctx, conn, schema); err != nil {
			return fmt.Errorf("reading the tables: %w", err)
		}
		count.Add(1)
	}
	return nil
}

func readTables(ctx context.Context, conn *pgx.Conn, schema string) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // no-op after a commit
	rows, err := tx.Query(ctx, tablesSQL, schema)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, table := range tables {
		var n int64
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{schema, table}.Sanitize()).Scan(&n); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// Report is the applied pressure.
type Report struct {
	// HeldAge is the number of transactions whose row versions the held one kept, at the end.
	HeldAge int64
	// complete readings, over all readers
	Reads int64
	// through the relay
	RoundTrips int64
	// pressure that was absent at some time
	Missing []string
}

// Stop ends the pressure. It may be called twice; only the first call reports.
func (r *Running) Stop(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	var out Report
	err := r.release(ctx, &out)
	r.cancel()
	r.readers.Wait()
	for i, count := range r.reads {
		n := count.Load()
		if out.Reads += n; n == 0 {
			out.Missing = append(out.Missing, fmt.Sprintf("reader %d never read the tables to the end", i+1))
		}
	}
	if r.failed != nil {
		out.Missing = append(out.Missing, r.failed.Error())
	}
	if r.far != nil {
		if out.RoundTrips = r.far.RoundTrips(); out.RoundTrips == 0 {
			out.Missing = append(out.Missing, "no round trip led through the relay")
		}
		r.far.Close()
	}
	r.reads, r.failed, r.far = nil, nil, nil
	return out, err
}

// release checks whether the transaction was held until now.
func (r *Running) release(ctx context.Context, out *Report) error {
	if r.held == nil {
		return nil
	}
	conn := r.held
	r.held = nil
	defer hangUp(conn)
	var holds bool
	err := conn.QueryRow(ctx, heldSQL, conn.PgConn().PID()).Scan(&holds, &out.HeldAge)
	switch {
	case err != nil:
		out.Missing = append(out.Missing, fmt.Sprintf("the held transaction has ended: %v", err))
	case !holds:
		out.Missing = append(out.Missing, "the held transaction keeps nothing")
	}
	_, err = conn.Exec(ctx, "ROLLBACK")
	return err
}

func connect(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = Application
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	return pgx.ConnectConfig(ctx, cfg)
}

func hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), callWithin)
	defer cancel()
	_ = conn.Close(ctx)
}
