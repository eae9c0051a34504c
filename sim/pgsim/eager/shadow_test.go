package eager

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/internal/fingerprint"
	"pulley/sim/internal/shadow"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

var design = shadow.Design{
	Name:      "eager",
	NewDesign: func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
	Open: func(ctx context.Context, cfg postgres.Config) (shadow.Opened, error) {
		return eager.Open(ctx, eager.Config{Store: cfg})
	},
	Cases: 24,
	Tables: []shadow.Table{
		shadow.InstanceRows("node_ready_state", "node place path deps_satisfied deps_required soft is_queued is_completed micros(due_at) token attempt redeliveries owner args",
			func(s *Store) *db.Table[pgsim.RunKey, nodeRow] { return s.nodes.Table }, columnsOf),
		shadow.Values("node_pending_context", "node place element payload", func(s *Store) *db.Table[pgsim.ValueKey, json.RawMessage] { return s.pending }),
		shadow.Values("instance_eval_context", "variable scope element value", func(s *Store) *db.Table[pgsim.ValueKey, json.RawMessage] { return s.context }),
	},
	Sequences:        map[string]func(*world.World) int64{"tokens": shadow.Tokens},
	GeneratedColumns: map[string]int{"insert_instances": 1, "guard": 4, "incarnation": 0},
}

func columnsOf(k pgsim.RunKey, r nodeRow) []any {
	var due, required any
	if r.Due != pgsim.Never {
		due = shadow.Micros(r.Due)
	}
	if r.required != unknownCount {
		required = r.required
	}
	return []any{k.Node, k.Path, r.path, r.satisfied, required, r.soft, r.queued, r.completed, due, shadow.OrNull(r.Token), r.Attempt, r.Redeliveries, r.owner, r.args}
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) { shadow.Test(t, design) }

// TestNoticed plants a changed row in each simulated table, and bugs in simulated statements.
func TestNoticed(t *testing.T) {
	spaced := func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') }
	shadow.TestNoticed(t, design, []shadow.Difference{
		{What: "a node", Want: "simulated: node_ready_state", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.nodes.Table, func(r nodeRow) nodeRow { r.Attempt++; return r })
		})},
		{What: "a payload", Want: "simulated: node_pending_context", From: 16, Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.pending, spaced)
		})},
		{What: "a value", Want: "simulated: instance_eval_context", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.context, spaced)
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.NeedsCleanup = true; return i })
		})},
		{What: "a token that is not asked for", Bug: cases.BugTokenIgnored, From: 48, Want: "guard"},
		{What: "a lease with the token of before", Bug: cases.BugLeaseNotFenced, Want: "claim"},
		{What: "what stays with its dead", Bug: cases.BugNeverReclaimed, Want: "claim"},
		{What: "attempts that are counted anew", Bug: cases.BugAttemptsForgotten, From: 96, Want: "claim"},
		{What: "rounds that stay", Bug: cases.BugLoopReset, Want: "durable"},
		{What: "what is cancelled and at work", Bug: cases.BugGatesOpen, From: 768, Want: "gates"},
		{What: "an end after the end", Bug: cases.BugEndedTwice},
		{What: "what an end has left", Bug: cases.BugCleanedUnseen, From: 352, Want: "durable"},
		{What: "others at work at the end", Bug: cases.BugEndsAlone, Want: "end"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", eager.SQL, append(slices.Sorted(maps.Keys(eagerSQL)), "apply"))
}
