package pull

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	//go:embed sql/submit.sql
	submitSQL string
	//go:embed sql/complete.sql
	completeSQL string
	//go:embed sql/runnable.sql
	runnableSQL string
	//go:embed sql/add_values.sql
	addValuesSQL string
	//go:embed sql/add_arrivals.sql
	addArrivalsSQL string
	//go:embed sql/mark.sql
	markSQL string
	//go:embed sql/read.sql
	readSQL string
	//go:embed sql/gather.sql
	gatherSQL string
	//go:embed sql/unset.sql
	unsetSQL string
	//go:embed sql/resumed.sql
	resumedSQL string
	//go:embed sql/reached.sql
	reachedSQL string
	//go:embed sql/lock_runs.sql
	lockRunsSQL string
	//go:embed sql/drop.sql
	dropSQL string
	//go:embed sql/call_off.sql
	callOffSQL string
	//go:embed sql/lock_cycle.sql
	lockCycleSQL string
	//go:embed sql/running.sql
	runningSQL string
	//go:embed sql/inputs.sql
	inputsSQL string
	//go:embed sql/scan.sql
	scanSQL string
	//go:embed sql/enter.sql
	enterSQL string
	//go:embed sql/end.sql
	endSQL string
	//go:embed sql/lock_open.sql
	lockOpenSQL string
	//go:embed sql/claim.sql
	claimSQL string
	//go:embed sql/next_due.sql
	nextDueSQL string
)

// ledger is the table of that name, as a queue: the node runs in it that have not ended are.
var ledger = postgres.NewQueue(postgres.Table{
	Name: "ledger", Path: "path", Ready: "q.status <> 'completed'",
	Leased: "q.status = 'leased'", Lease: "status = 'leased', owner = $3::text", Free: "status = 'queued', owner = NULL",
	Due: []string{"q.due_at", "q.token"},
}, statementFiles, map[string]postgres.Variant{
	"end_ledger":     {File: "end_rows", Names: []string{"{table}", "ledger"}},
	"clear_ledger":   {File: "clear", Names: []string{"{table}", "ledger", "{id}", "node"}},
	"end_arrivals":   {File: "end_rows", Names: []string{"{table}", "arrivals"}},
	"clear_arrivals": {File: "clear", Names: []string{"{table}", "arrivals", "{id}", "node"}},
	"end_inbox":      {File: "end_rows", Names: []string{"{table}", "inbox"}},
	"clear_inbox":    {File: "clear", Names: []string{"{table}", "inbox", "{id}", "variable"}},
})

var (
	endLedgerSQL     = ledger.MustSQL("end_ledger")
	clearLedgerSQL   = ledger.MustSQL("clear_ledger")
	endArrivalsSQL   = ledger.MustSQL("end_arrivals")
	clearArrivalsSQL = ledger.MustSQL("clear_arrivals")
	endInboxSQL      = ledger.MustSQL("end_inbox")
	clearInboxSQL    = ledger.MustSQL("clear_inbox")
)

// DefaultSchema holds the tables where Config names no other.
const DefaultSchema = "pulley_pull"

// Scan is how a cycle finds what has become runnable.
type Scan string

// The scans.
const (
	ScanApp Scan = "app" // all rows of the ledger are read, and the scope is rebuilt in the application
	ScanSQL Scan = "sql" // one set-based anti-join finds it in the database
)

// Config is how a Backend is opened.
type Config struct {
	Store postgres.Config // an empty Schema means DefaultSchema
	Scan  Scan            // empty: ScanApp
}

// Backend is a backend.Backend, backend.Listener and backend.Canceler; see the package's description.
type Backend struct {
	store  *postgres.Store
	scan   Scan
	missed []atomic.Bool // by shard: something may have been committed without its cycle
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Listener = (*Backend)(nil)
	_ backend.Canceler = (*Backend)(nil)
)

// Open connects and sets the schema up where needed.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	if cfg.Store.Schema == "" {
		cfg.Store.Schema = DefaultSchema
	}
	switch cfg.Scan {
	case "":
		cfg.Scan = ScanApp
	case ScanApp, ScanSQL:
	default:
		return nil, fmt.Errorf("pull: no scan %q; choose app or sql", cfg.Scan)
	}
	ctx, cancel := context.WithTimeout(ctx, postgres.OpenTimeout)
	defer cancel()
	store, err := postgres.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	if err := claimScan(ctx, store, cfg.Scan); err != nil {
		store.Close()
		return nil, err
	}
	return On(store, cfg), nil
}

// On makes a backend on a store, whose schema is set up, for the scan of cfg; what that says of the store is not looked at.
func On(store *postgres.Store, cfg Config) *Backend {
	b := &Backend{store: store, scan: cmp.Or(cfg.Scan, ScanApp), missed: make([]atomic.Bool, store.Shards())}
	for shard := range b.missed {
		b.missed[shard].Store(true) // before it was opened
	}
	return b
}

// claimScan holds a schema to the scan that it was set up with.
func claimScan(ctx context.Context, store *postgres.Store, scan Scan) error {
	if _, err := store.Pool.Exec(ctx, "INSERT INTO scans (scan) VALUES ($1) ON CONFLICT DO NOTHING", string(scan)); err != nil {
		return postgres.Explain(err)
	}
	var have Scan
	if err := store.Pool.QueryRow(ctx, "SELECT scan FROM scans").Scan(&have); err != nil {
		return postgres.Explain(err)
	}
	if have != scan {
		return fmt.Errorf("pull: schema %s was set up with scan=%s, not scan=%s; use that, or another schema", store.Schema, have, scan)
	}
	return nil
}

// Shards implements backend.Backend.
func (b *Backend) Shards() int { return b.store.Shards() }

// Close implements backend.Backend.
func (b *Backend) Close() { b.store.Close() }

// Lookup implements backend.Backend.
func (b *Backend) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return b.store.Lookup(ctx, ids)
}

// Listen implements backend.Listener.
func (b *Backend) Listen(ctx context.Context, wake func()) error { return b.store.Listen(ctx, wake) }

// Notify implements backend.Listener.
func (b *Backend) Notify(ctx context.Context) error { return b.store.Notify(ctx) }

// Sweep implements backend.Backend: a cycle over all running instances, for what was committed without one. Node
// runs whose lease is over are put first. There is nothing to remove, since the cycle that ends an instance takes its rows.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return backend.Swept{}, err
	}
	if err := b.store.Overdue(ctx, ledger, shard); err != nil {
		return backend.Swept{}, err
	}
	_, err := b.cycle(ctx, shard, backend.Grant{}, nil, false)
	return backend.Swept{}, postgres.Explain(err)
}

// Leftovers counts the rows of the ledger that belong to instances which have ended; it is for tests
// of I10, and scans.
func (b *Backend) Leftovers(ctx context.Context) (map[string]int, error) {
	return b.store.Leftovers(ctx, map[string]string{
		"ledger":   "SELECT count(*) FROM ledger t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"arrivals": "SELECT count(*) FROM arrivals t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"inbox":    "SELECT count(*) FROM inbox t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
	})
}

func (b *Backend) check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return err
	}
	return grant.Check()
}

// micros gives a duration for the database.
func micros(d time.Duration) int64 { return d.Microseconds() }

// Extend implements backend.Backend. A cycle locks rows of runs that it calls off, or that its instance leaves, behind those
// that have been completed, in no order with these: nobody may have one row and wait for another but cycles, of which a
// shard has one at a time.
func (b *Backend) Extend(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	grant.Max = max(grant.Max, 1) // the length of the lease must be sensible
	if err := b.check(shard, grant); err != nil {
		return nil, err
	}
	return b.store.Renew(ctx, ledger, shard, held, grant.Lease)
}
