package eager

import (
	"context"
	"embed"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

//go:embed migrations/*.sql
var migrations embed.FS

var (
	//go:embed sql/guard.sql
	guardSQL string
	//go:embed sql/born.sql
	bornSQL string
	//go:embed sql/read.sql
	readSQL string
	//go:embed sql/gather.sql
	gatherSQL string
	//go:embed sql/clear.sql
	clearSQL string
	//go:embed sql/unset.sql
	unsetSQL string
	//go:embed sql/apply.sql
	applySQL string
	//go:embed sql/remove.sql
	removeSQL string
	//go:embed sql/workflows.sql
	workflowsSQL string
)

// runs are the rows of nodes, as those of a queue.
var runs = postgres.NewQueue(postgres.Table{
	Name: "node_ready_state", Path: "place",
	Ready:  "q.deps_satisfied >= q.deps_required AND NOT q.is_completed AND q.token IS NOT NULL",
	Leased: "q.is_queued AND NOT q.is_completed", Lease: "is_queued = true, owner = $3::text", Free: "is_queued = false, owner = NULL",
	Due: []string{"q.due_at", "q.token"},
}, statementFiles, map[string]postgres.Variant{
	"gates":        {File: "gates"},
	"gates_more":   {File: "gates", Parts: []string{"now"}},
	"barriers":     {File: "barriers"},
	"barriers_now": {File: "barriers", Parts: []string{"now"}},
})

var (
	gatesSQL       = runs.MustSQL("gates")
	gatesMoreSQL   = runs.MustSQL("gates_more")
	barriersSQL    = runs.MustSQL("barriers")
	barriersNowSQL = runs.MustSQL("barriers_now")
)

// DefaultSchema holds the tables where Config names no other.
const DefaultSchema = "pulley_eager"

// Config is how a Backend is opened.
type Config struct {
	Store postgres.Config // an empty Schema means DefaultSchema
}

// Backend is a backend.Backend, backend.Listener and backend.Canceler; see the package's description.
type Backend struct {
	store   *postgres.Store
	sweeper *postgres.Sweeper
	mu      sync.Mutex
	shapes  map[[32]byte]*shape // by the workflow's hash
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
	store, err := postgres.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	return On(store), nil
}

// On makes a backend on a store, whose schema is set up.
func On(store *postgres.Store) *Backend {
	return &Backend{store: store, sweeper: postgres.NewSweeper(store, cleanup), shapes: map[[32]byte]*shape{}}
}

// Shards implements backend.Backend.
func (b *Backend) Shards() int { return b.store.Shards() }

// Close implements backend.Backend.
func (b *Backend) Close() {
	b.sweeper.Close()
	b.store.Close()
}

// Lookup implements backend.Backend.
func (b *Backend) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	return b.store.Lookup(ctx, ids)
}

// Listen implements backend.Listener.
func (b *Backend) Listen(ctx context.Context, wake func()) error { return b.store.Listen(ctx, wake) }

// Notify implements backend.Listener.
func (b *Backend) Notify(ctx context.Context) error { return b.store.Notify(ctx) }

// Leftovers counts the rows of each table that belong to instances which have ended; it is for tests
// of I10, and scans.
func (b *Backend) Leftovers(ctx context.Context) (map[string]int, error) {
	return b.store.Leftovers(ctx, map[string]string{
		"node_ready_state":      "SELECT count(*) FROM node_ready_state t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"node_pending_context":  "SELECT count(*) FROM node_pending_context t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
		"instance_eval_context": "SELECT count(*) FROM instance_eval_context t JOIN instances i ON i.shard = t.shard AND i.id = t.instance_id WHERE i.status <> 'running'",
	})
}

// check refuses calls that name no shard or grant nothing sensible.
func (b *Backend) check(shard int, grant backend.Grant) error {
	if err := backend.CheckShard(shard, b.Shards()); err != nil {
		return err
	}
	return grant.Check()
}

// quiet says whether nothing else can be at work on an instance of the program when it completes: no
// node of it goes on after the first of several.
func quiet(p *plan.Program) bool { return !p.EndsEarly() }

// micros gives a duration for the database.
func micros(d time.Duration) int64 { return d.Microseconds() }

// unfit says why an event cannot be committed.
func (e *event) unfit(err error) error {
	return &postgres.UnfitError{Err: fmt.Errorf("instance %s, %s: %w", e.instance, e.program.RunName(e.what.Run), err)}
}
