package eager

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"sync"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/internal/schedulestore"
	"pulley/internal/signalstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// runs is the table of node rows as a queue.
var runs = pgstore.NewQueue(pgstore.Table{
	Name: "node_ready_state", Path: "place",
	Ready:  "q.deps_satisfied >= q.deps_required AND NOT q.is_completed AND q.token IS NOT NULL",
	Leased: "q.is_queued AND NOT q.is_completed", Lease: "is_queued = true, owner = $3::text", Free: "is_queued = false, owner = NULL",
	Due: []string{"q.due_at", "q.token"},
}, statementFiles, map[string]pgstore.Variant{
	"gates":        {File: "gates"},
	"gates_more":   {File: "gates", Parts: []string{"now"}},
	"barriers":     {File: "barriers"},
	"barriers_now": {File: "barriers", Parts: []string{"now"}},
})

var (
	guardSQL           = runs.MustSQL("guard")
	insertInstancesSQL = runs.MustSQL("insert_instances")
	readSQL            = runs.MustSQL("read")
	gatherSQL          = runs.MustSQL("gather")
	gatesSQL           = runs.MustSQL("gates")
	gatesMoreSQL       = runs.MustSQL("gates_more")
	barriersSQL        = runs.MustSQL("barriers")
	barriersNowSQL     = runs.MustSQL("barriers_now")
	clearSQL           = runs.MustSQL("clear")
	unsetSQL           = runs.MustSQL("unset")
	applySQL           = runs.MustSQL("apply")
	endSQL             = runs.MustSQL("end")
	workflowsSQL       = runs.MustSQL("workflows")
)

// DefaultSchema is the schema of a Config without one.
const DefaultSchema = "pulley_eager"

// Config says how to open a Backend.
type Config struct {
	Store postgres.Config // an empty Schema means DefaultSchema
}

// Backend is the eager design.
type Backend struct {
	pgstore.SweptBase
	schedulestore.Table
	signalstore.SignalTable
	store   *pgstore.Store
	sweeper *pgstore.Sweeper
	mu      sync.Mutex
	shapes  map[[32]byte]*shape // by the workflow's hash
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
	store, err := pgstore.Open(ctx, cfg.Store, migrations)
	if err != nil {
		return nil, err
	}
	return On(store), nil
}

// On returns a backend on an open store. It is for the simulator: a program outside of this module cannot have such a store.
func On(store *pgstore.Store) *Backend {
	sweeper := pgstore.NewSweeper(store, cleanup)
	return &Backend{SweptBase: pgstore.NewSweptBase(sweeper), Table: schedulestore.On(store), SignalTable: signalstore.On(store), store: store, sweeper: sweeper, shapes: map[[32]byte]*shape{}}
}

// endsCleanly reports whether no other node run can be open when an instance completes.
func endsCleanly(p *plan.Program) bool { return !p.EndsEarly() }

func (e *commitEvent) unfit(err error) error {
	return &pgstore.UnfitError{Err: fmt.Errorf("instance %s, %s: %w", e.instance, e.program.RunName(e.coreEvent.Run), err)}
}
