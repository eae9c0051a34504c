package push

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/internal/fingerprint"
	"pulley/sim/internal/shadow"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

var design = shadow.Design{
	Name: "push",
	NewDesign: func(w *world.World, m *pgsim.Memory) pgsim.Design {
		s := New(w, m)
		s.queue.ByToken = true
		return s
	},
	// push leaves the order of node runs that are due at the same moment open. Postgres orders them by their position in the
	// table, which depends on the sessions' pages; here both servers order them by token.
	SchemaStatements: []string{"DROP INDEX queue_due", "CREATE INDEX queue_due ON queue (shard, due_at, token) WHERE due_at IS NOT NULL"},
	Open: func(ctx context.Context, cfg postgres.Config) (shadow.Opened, error) {
		return push.Open(ctx, push.Config{Store: cfg})
	},
	Cases: 24,
	Tables: []shadow.Table{
		shadow.InstanceRows("queue", "node path micros(due_at) token attempt redeliveries owner args workflow", func(s *Store) *db.Table[pgsim.RunKey, queued] { return s.queue.Table },
			func(k pgsim.RunKey, q queued) []any {
				return []any{k.Node, k.Path, shadow.Micros(q.Due), q.Token, q.Attempt, q.Redeliveries, shadow.OrNull(int64(q.owner)), q.args, shadow.OrNull(int64(q.workflow))}
			}),
		shadow.InstanceRows("readiness", "node path completed required soft", func(s *Store) *db.Table[pgsim.RunKey, readiness] { return s.readiness },
			func(k pgsim.RunKey, r readiness) []any { return []any{k.Node, k.Path, r.completed, r.required, r.soft} }),
		shadow.Values("inbox", "variable path element value", func(s *Store) *db.Table[pgsim.ValueKey, json.RawMessage] { return s.inbox }),
		shadow.InstanceRows("elements", "node path first places vals", func(s *Store) *db.Table[pgsim.ValueKey, collected] { return s.elements },
			func(k pgsim.ValueKey, c collected) []any { return []any{k.ID, k.Path, k.Element, c.places, c.vals} }),
		shadow.Rows("commits", "shard backend slot number stale micros(at)", func(s *Store) *db.Table[commitKey, commitRow] { return s.commits },
			func(k commitKey, c commitRow) []any {
				return []any{k.shard, k.backend, k.slot, c.number, c.stale, shadow.Micros(c.at)}
			}),
		shadow.Rows("owners", "id name", func(s *Store) *db.Table[string, int32] { return s.owners }, func(name string, id int32) []any { return []any{id, name} }),
	},
	Sequences: map[string]func(*world.World) int64{
		"tokens":        shadow.Tokens,
		"owners_id_seq": func(w *world.World) int64 { return w.Store.(*Store).ownerIDs.Last() },
	},
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) { shadow.Test(t, design) }

// TestNoticed plants a changed row in each simulated table, and bugs in simulated statements.
func TestNoticed(t *testing.T) {
	shadow.TestNoticed(t, design, []shadow.Difference{
		{What: "an attempt", Want: "simulated: queue", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.queue.Table, func(q queued) queued { q.Attempt++; return q })
		})},
		{What: "a count", Want: "simulated: readiness", From: 16, Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.readiness, func(r readiness) readiness { r.required++; return r })
		})},
		{What: "a value", Want: "simulated: inbox", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.inbox, func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') })
		})},
		{What: "a place", Want: "simulated: elements", From: 16, Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.elements, func(c collected) collected {
				c.places = slices.Clone(c.places)
				c.places[0]++
				return c
			})
		})},
		{What: "a mark", Want: "simulated: commits", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.commits, func(c commitRow) commitRow { c.number++; return c })
		})},
		{What: "an owner", Want: "simulated: owners", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.owners, func(id int32) int32 { return id + 1000 })
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.NeedsCleanup = !i.NeedsCleanup; return i })
		})},
		{What: "a token that is not asked for", Bug: cases.BugTokenIgnored, Want: "apply"},
		{What: "a count of what is stale", Bug: cases.BugReadinessBeforeGuard},
		{What: "a lease with the token of before", Bug: cases.BugLeaseNotFenced, Want: "claim"},
		{What: "what stays with its dead", Bug: cases.BugNeverReclaimed, Want: "claim"},
		{What: "attempts that are counted anew", Bug: cases.BugAttemptsForgotten, Want: "claim"},
		{What: "leases that are not renewed", Bug: cases.BugRenewalInWordsOnly, Want: "durable"},
		{What: "what an end takes not away", Bug: cases.BugLoopReset, Want: "durable"},
		{What: "rounds that stay", Bug: cases.BugLoopReset, From: 32, Want: "delete_"},
		{What: "an end after the end", Bug: cases.BugEndedTwice},
		{What: "a lost commit that is found", Bug: cases.BugUnknownIsSuccess, Want: "commit_slot"},
		{What: "a lost commit that is fenced", Bug: cases.BugUnknownIsSuccess, From: 8, Want: "fence"},
		{What: "what an end has left", Bug: cases.BugCleanedUnseen, From: 336, Want: "durable"},
		{What: "others at work at the end", Bug: cases.BugEndsAlone, Want: "end"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", push.SQL, append(slices.Sorted(maps.Keys(pushSQL)), "apply"))
}
