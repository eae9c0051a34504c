package pull

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"sync/atomic"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
	"pulley/internal/schedulestore"
	"pulley/internal/signalstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ledger is the ledger as a queue of the node runs that have not ended.
var ledger = pgstore.NewQueue(pgstore.Table{
	Name: "ledger", Path: "path", Ready: "q.status <> 'completed'",
	Leased: "q.status = 'leased'", Lease: "status = 'leased', owner = $3::text", Free: "status = 'queued', owner = NULL",
	Due: []string{"q.due_at", "q.token"},
}, statementFiles, map[string]pgstore.Variant{
	"end_ledger":     {File: "end_rows", Names: []string{"{table}", "ledger"}},
	"clear_ledger":   {File: "clear", Names: []string{"{table}", "ledger", "{id}", "node"}},
	"end_arrivals":   {File: "end_rows", Names: []string{"{table}", "arrivals"}},
	"clear_arrivals": {File: "clear", Names: []string{"{table}", "arrivals", "{id}", "node"}},
	"end_inbox":      {File: "end_rows", Names: []string{"{table}", "inbox"}},
	"clear_inbox":    {File: "clear", Names: []string{"{table}", "inbox", "{id}", "variable"}},
})

var (
	submitSQL        = ledger.MustSQL("submit")
	completeSQL      = ledger.MustSQL("complete")
	runnableSQL      = ledger.MustSQL("runnable")
	addValuesSQL     = ledger.MustSQL("add_values")
	addArrivalsSQL   = ledger.MustSQL("add_arrivals")
	markSQL          = ledger.MustSQL("mark_opened")
	readSQL          = ledger.MustSQL("read")
	gatherSQL        = ledger.MustSQL("gather")
	unsetSQL         = ledger.MustSQL("unset")
	resumedSQL       = ledger.MustSQL("resumed")
	reachedCountsSQL = ledger.MustSQL("reached_counts")
	lockRunsSQL      = ledger.MustSQL("lock_runs")
	dropSQL          = ledger.MustSQL("drop")
	cancelRunsSQL    = ledger.MustSQL("cancel_runs")
	lockScanSQL      = ledger.MustSQL("lock_scan")
	runningSQL       = ledger.MustSQL("running")
	inputsSQL        = ledger.MustSQL("inputs")
	scanSQL          = ledger.MustSQL("scan")
	enterSQL         = ledger.MustSQL("enter")
	endSQL           = ledger.MustSQL("end")
	lockOpenSQL      = ledger.MustSQL("lock_open")
	claimSQL         = ledger.MustSQL("claim")
	nextDueSQL       = ledger.MustSQL("next_due")
	endLedgerSQL     = ledger.MustSQL("end_ledger")
	clearLedgerSQL   = ledger.MustSQL("clear_ledger")
	endArrivalsSQL   = ledger.MustSQL("end_arrivals")
	clearArrivalsSQL = ledger.MustSQL("clear_arrivals")
	endInboxSQL      = ledger.MustSQL("end_inbox")
	clearInboxSQL    = ledger.MustSQL("clear_inbox")
)

// DefaultSchema is the schema of a Config without one.
const DefaultSchema = "pulley_pull"

// Scan is a way to find runnable node runs.
type Scan string

// The scans.
const (
	ScanApp Scan = "app" // read all ledger rows, and replay them in the program
	ScanSQL Scan = "sql" // one set-based anti-join in the database
)

// Config says how to open a Backend.
type Config struct {
	Store postgres.Config // an empty Schema means DefaultSchema
	Scan  Scan            // empty: ScanApp
}

// Backend is the pull design.
type Backend struct {
	pgstore.Base
	schedulestore.Table
	signalstore.SignalTable
	store  *pgstore.Store
	scan   Scan
	missed []atomic.Bool // by shard: something may have been committed without a scan
}

var (
	_ backend.Backend   = (*Backend)(nil)
	_ backend.Listener  = (*Backend)(nil)
	_ backend.Canceler  = (*Backend)(nil)
	_ backend.Scheduler = (*Backend)(nil)
)

// Open connects to the store and sets up its schema if needed.
func Open(ctx context.Context, cfg Config) (*Backend, error) {
	cfg.Store.Schema = cmp.Or(cfg.Store.Schema, DefaultSchema)
	switch cfg.Scan {
	case "":
		cfg.Scan = ScanApp
	case ScanApp, ScanSQL:
	default:
		return nil, fmt.Errorf("pull: no scan %q; choose app or sql", cfg.Scan)
	}
	ctx, cancel := context.WithTimeout(ctx, pgstore.OpenTimeout)
	defer cancel()
	store, err := pgstore.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	if err := claimScan(ctx, store, cfg.Scan); err != nil {
		store.Close()
		return nil, err
	}
	return On(store, cfg), nil
}

// On returns a backend on an open store, for cfg.Scan; it ignores cfg.Store. It is for the simulator: a program outside of this
// module cannot have such a store.
func On(store *pgstore.Store, cfg Config) *Backend {
	b := &Backend{
		Base: pgstore.NewBase(store, ledger, "ledger", "arrivals", "inbox"), Table: schedulestore.On(store), SignalTable: signalstore.On(store), store: store,
		scan: cmp.Or(cfg.Scan, ScanApp), missed: make([]atomic.Bool, store.Shards()),
	}
	for shard := range b.missed {
		b.missed[shard].Store(true) // before it was opened
	}
	return b
}

// claimScan refuses another scan than the one that the schema was set up with.
func claimScan(ctx context.Context, store *pgstore.Store, scan Scan) error {
	if _, err := store.Pool.Exec(ctx, "INSERT INTO scans (scan) VALUES ($1) ON CONFLICT DO NOTHING", string(scan)); err != nil && !pgstore.MayOnlyRead(err) {
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

// Sweep implements backend.Backend: it scans all running instances, for what was committed without a scan, and moves expired
// leases to the front. Nothing needs cleanup.
func (b *Backend) Sweep(ctx context.Context, shard int) (backend.Swept, error) {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return backend.Swept{}, err
	}
	if err := b.store.Overdue(ctx, ledger, shard); err != nil {
		return backend.Swept{}, err
	}
	_, err := b.scanAndClaim(ctx, shard, backend.Grant{}, nil, false)
	return backend.Swept{}, postgres.Explain(err)
}
