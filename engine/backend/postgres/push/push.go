package push

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/limitstore"
	"pulley/internal/pgstore"
	"pulley/internal/schedulestore"
	"pulley/internal/signalstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

var queue = pgstore.NewQueue(pgstore.Table{
	Name: "queue", Path: "path", Ready: "true",
	Leased: "q.owner IS NOT NULL", Lease: "owner = $3::int", Free: "owner = NULL", Due: []string{"q.due_at"},
}, statementFiles, map[string]pgstore.Variant{
	"delete_runs":         {File: "delete", Names: []string{"{table}", "queue"}},
	"delete_counters":     {File: "delete", Names: []string{"{table}", "readiness"}},
	"delete_elements":     {File: "delete", Names: []string{"{table}", "elements"}},
	"lock_cancelled":      {File: "lock_cancelled"},
	"lock_cancelled_more": {File: "lock_cancelled", Parts: []string{"now"}},
	"claim_by_workflow":   {File: "claim_by_turns", Parts: []string{"workflows"}},
	"claim_by_instance":   {File: "claim_by_turns", Parts: []string{"instances"}},
})

var (
	applySQL             = queue.MustSQL("apply")
	readSQL              = queue.MustSQL("read")
	gatherSQL            = queue.MustSQL("gather")
	fenceSQL             = queue.MustSQL("fence")
	commitSlotSQL        = queue.MustSQL("commit_slot")
	deleteOldSlotsSQL    = queue.MustSQL("delete_old_slots")
	ownerSQL             = queue.MustSQL("owner")
	deleteRunsSQL        = queue.MustSQL("delete_runs")
	deleteCountersSQL    = queue.MustSQL("delete_counters")
	deleteElementsSQL    = queue.MustSQL("delete_elements")
	deleteValuesSQL      = queue.MustSQL("delete_values")
	endSQL               = queue.MustSQL("end")
	lockCountersSQL      = queue.MustSQL("lock_counters")
	lockCancelledSQL     = queue.MustSQL("lock_cancelled")
	lockCancelledMoreSQL = queue.MustSQL("lock_cancelled_more")
)

// DefaultSchema is the schema of a Config without one.
const DefaultSchema = "pulley_push"

// Config configures a backend.
type Config struct {
	Store postgres.Config // an empty Schema means DefaultSchema
}

// Backend is the push design.
type Backend struct {
	pgstore.SweptBase
	schedulestore.Table
	signalstore.SignalTable
	limitstore.LimitTable
	store   *pgstore.Store
	sweeper *pgstore.Sweeper
	peers   *pgstore.Peers
	slots   *commitSlots
	owners  owners
	turns   *pgstore.Turns
}

var (
	_ backend.Backend    = (*Backend)(nil)
	_ backend.Listener   = (*Backend)(nil)
	_ backend.Canceler   = (*Backend)(nil)
	_ backend.Placer     = (*Backend)(nil)
	_ backend.Scheduler  = (*Backend)(nil)
	_ backend.Limiter    = (*Backend)(nil)
	_ backend.TurnTaker  = (*Backend)(nil)
	_ backend.Overlapper = (*Backend)(nil)
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
	return &Backend{
		SweptBase: pgstore.NewSweptBase(sweeper), Table: schedulestore.On(store), SignalTable: signalstore.On(store), LimitTable: limitstore.On(store), store: store, sweeper: sweeper,
		peers: pgstore.NewPeers(store), slots: newCommitSlots(store), owners: owners{numbers: map[string]int32{}}, turns: pgstore.NewTurns(queue),
	}
}

// Listen implements backend.Listener.
func (b *Backend) Listen(ctx context.Context, wake func()) error { return b.peers.Listen(ctx, wake) }

// IsLocal implements backend.Placer. Every engine works on every shard, but if each creates instances in shards of its own, more
// completions share a commit.
func (b *Backend) IsLocal(shard int) bool { return b.peers.Prefers(shard) }

type commitEvent struct {
	ord          int32 // its index in the call; continuations count on
	instance     uuid.UUID
	program      *plan.Program
	workflow     int32 // of a submission
	submission   *backend.Submission
	completion   *backend.Completion
	continuation graph.Run // if neither submission nor completion is set
	token        int64     // of a completion
	inbox        plan.Inbox
	plan         plan.Plan
	leavesReady  bool  // a due node run was not leased at once
	refused      error // why the core would not plan it
}

// Ord and Of implement pgstore.Member.
func (e *commitEvent) Ord() int32    { return e.ord }
func (e *commitEvent) Of() uuid.UUID { return e.instance }

func (e *commitEvent) key() backend.Key { return backend.Key{Instance: e.instance, Run: *e.run()} }

func (e *commitEvent) value(slot plan.Slot) (json.RawMessage, bool) {
	return e.plan.Value(slot, &e.inbox)
}

func refusedError(p *plan.Program, key backend.Key, err error) error {
	return fmt.Errorf("instance %s, %s: %w", key.Instance, p.RunName(key.Run), err)
}

// TakesTurns implements backend.TurnTaker.
func (b *Backend) TakesTurns() {}

// OverlapsCommits implements backend.Overlapper: two commits of a shard wait for each other only where both raise the same counter.
func (b *Backend) OverlapsCommits() {}

// OrdersByPriority implements backend.Prioritizer.
func (b *Backend) OrdersByPriority() {}
