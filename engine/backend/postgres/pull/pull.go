package pull

import (
	"context"
	"embed"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
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
	//go:embed sql/clear_ledger.sql
	clearLedgerSQL string
	//go:embed sql/clear_arrivals.sql
	clearArrivalsSQL string
	//go:embed sql/clear_inbox.sql
	clearInboxSQL string
	//go:embed sql/drop.sql
	dropSQL string
	//go:embed sql/call_off.sql
	callOffSQL string
	//go:embed sql/lock_cycle.sql
	lockCycleSQL string
	//go:embed sql/scan.sql
	scanSQL string
	//go:embed sql/enter.sql
	enterSQL string
	//go:embed sql/end.sql
	endSQL string
	//go:embed sql/end_ledger.sql
	endLedgerSQL string
	//go:embed sql/end_arrivals.sql
	endArrivalsSQL string
	//go:embed sql/end_inbox.sql
	endInboxSQL string
	//go:embed sql/claim.sql
	claimSQL string
	//go:embed sql/next_due.sql
	nextDueSQL string
	//go:embed sql/extend.sql
	extendSQL string
	//go:embed sql/fence.sql
	fenceSQL string
	//go:embed sql/held.sql
	heldSQL string
	//go:embed sql/standing.sql
	standingSQL string
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
	Store  postgres.Config // an empty Schema means DefaultSchema
	Scan   Scan            // empty: ScanApp
	Jitter func() float64  // in [0, 1), for the waits before retries; nil: random
}

// Backend is a backend.Backend, backend.Listener and backend.Canceler; see the package's description.
type Backend struct {
	store  *postgres.Store
	scan   Scan
	jitter func() float64
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
	store, err := postgres.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	if err := claimScan(ctx, store, cfg.Scan); err != nil {
		store.Close()
		return nil, err
	}
	b := &Backend{store: store, scan: cfg.Scan, jitter: cfg.Jitter}
	if b.jitter == nil {
		b.jitter = rand.Float64
	}
	return b, nil
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

// Sweep implements backend.Backend. There is nothing to sweep: only cycles add to the ledger, one at a
// time, and the one that ends an instance takes its rows.
func (b *Backend) Sweep(_ context.Context, shard int) (backend.Swept, error) {
	return backend.Swept{}, backend.CheckShard(shard, b.Shards())
}

// Leftovers counts the rows of the ledger that belong to instances which have ended; it is for tests
// of I10, and scans.
func (b *Backend) Leftovers(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for table, query := range map[string]string{
		"ledger":   "SELECT count(*) FROM ledger t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"arrivals": "SELECT count(*) FROM arrivals t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"inbox":    "SELECT count(*) FROM inbox t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
	} {
		var n int
		if err := b.store.Pool.QueryRow(ctx, query).Scan(&n); err != nil {
			return nil, postgres.Explain(err)
		}
		if n > 0 {
			out[table] = n
		}
	}
	return out, nil
}

func (b *Backend) check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return err
	}
	return grant.Check()
}

// micros gives a duration for the database.
func micros(d time.Duration) int64 { return d.Microseconds() }

// Submit implements backend.Backend. The first cycle after it finds the instances' first node runs.
func (b *Backend) Submit(ctx context.Context, subs []backend.Submission, grant backend.Grant) (backend.Committed, error) {
	out := backend.Committed{Outcomes: make([]backend.Outcome, len(subs))}
	if err := grant.Check(); err != nil {
		return backend.Committed{}, err
	}
	byShard := make([]newInstances, b.Shards())
	seen := map[uuid.UUID]bool{}
	for i, s := range subs {
		out.Outcomes[i] = backend.Outcome{Answer: backend.Duplicate}
		if seen[s.ID] {
			continue
		}
		started, err := s.Program.Start(s.Input)
		if err != nil {
			out.Outcomes[i] = backend.Outcome{Answer: backend.Refused, Err: err}
			continue
		}
		seen[s.ID] = true
		number, err := b.store.Number(ctx, s.Program)
		if err != nil {
			return backend.Committed{}, postgres.Explain(err)
		}
		byShard[backend.ShardOf(s.ID, b.Shards())].add(i, s, number, started)
	}
	stored := false
	for shard := range byShard {
		n := &byShard[shard]
		if len(n.place) == 0 {
			continue
		}
		err := b.store1(ctx, shard, n, out.Outcomes)
		if err != nil && !stored {
			return backend.Committed{}, postgres.Explain(err)
		}
		if err != nil {
			for _, at := range n.place {
				out.Outcomes[at] = backend.Outcome{Answer: backend.Again, Err: postgres.Explain(err)}
			}
			continue
		}
		stored = true
		_ = b.follow(ctx, shard, grant, &out)
	}
	return out, nil
}

// newInstances are the parameters of submit.sql.
type newInstances struct {
	place    []int
	instance [][16]byte
	workflow []int32
	input    []string
	program  []*plan.Program
	plan     []plan.Plan
}

func (n *newInstances) add(place int, s backend.Submission, workflow int32, started plan.Plan) {
	n.place = append(n.place, place)
	n.instance = append(n.instance, s.ID)
	n.workflow = append(n.workflow, workflow)
	n.input = append(n.input, string(s.Input))
	n.program = append(n.program, s.Program)
	n.plan = append(n.plan, started)
}

// store1 stores the instances of one shard. Doing it again is always right: the id decides.
func (b *Backend) store1(ctx context.Context, shard int, n *newInstances, outcomes []backend.Outcome) error {
	var ids [][16]byte
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, b.store.Pool, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, submitSQL, shard, n.instance, n.workflow, n.input)
			if err != nil {
				return err
			}
			if ids, err = pgx.CollectRows(rows, pgx.RowTo[[16]byte]); err != nil || b.scan != ScanSQL {
				return err
			}
			return b.start(ctx, tx, shard, n, ids)
		})
		if err == nil {
			break
		}
		if try == commitTries || ctx.Err() != nil || !postgres.Unconfirmed(err) && !postgres.Contended(err) {
			return err
		}
	}
	for _, id := range ids {
		for i, instance := range n.instance {
			if instance == id {
				outcomes[n.place[i]] = backend.Outcome{Answer: backend.Applied}
			}
		}
	}
	return nil
}

// start writes the first steps of the instances that are new.
func (b *Backend) start(ctx context.Context, tx pgx.Tx, shard int, n *newInstances, ids [][16]byte) error {
	fresh := map[[16]byte]bool{}
	for _, id := range ids {
		fresh[id] = true
	}
	var f effects
	for i, id := range n.instance {
		if !fresh[id] {
			continue
		}
		if err := f.add(n.program[i], id, "start", n.plan[i]); err != nil {
			return err
		}
	}
	batch := &pgx.Batch{}
	f.queue(batch, shard)
	return tx.SendBatch(ctx, batch).Close()
}

// follow runs a cycle after something was committed. Its failure is nobody's loss: More makes the
// caller claim, which runs the next one.
func (b *Backend) follow(ctx context.Context, shard int, grant backend.Grant, out *backend.Committed) error {
	grant.Max = max(grant.Max-len(out.Tasks), 0)
	c, err := b.cycle(ctx, shard, grant, false)
	if err != nil {
		out.More = true
		return postgres.Explain(err)
	}
	out.Tasks = append(out.Tasks, c.Tasks...)
	out.Ended = append(out.Ended, c.Ended...)
	out.More = out.More || c.More
	out.NextDue = earlier(out.NextDue, c.NextDue)
	return nil
}

// Extend implements backend.Backend.
func (b *Backend) Extend(ctx context.Context, shard int, held []backend.Lease, grant backend.Grant) ([]bool, error) {
	grant.Max = max(grant.Max, 1) // the length of the lease must be sensible
	if err := b.check(shard, grant); err != nil {
		return nil, err
	}
	return b.store.Extend(ctx, extendSQL, shard, held, grant.Lease)
}
