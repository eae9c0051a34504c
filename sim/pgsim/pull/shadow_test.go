package pull

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/internal/fingerprint"
	"pulley/sim/internal/shadow"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// designOf describes pull with one of its scans to its shadow.
func designOf(name string, scan pull.Scan) shadow.Design {
	return shadow.Design{
		Name:      name,
		NewDesign: func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
		Open: func(ctx context.Context, cfg postgres.Config) (shadow.Opened, error) {
			return pull.Open(ctx, pull.Config{Store: cfg, Scan: scan})
		},
		Cases: 24,
		Tables: []shadow.Table{
			shadow.InstanceRows("ledger", "node path status micros(due_at) token attempt redeliveries owner args done result failure",
				func(s *Store) *db.Table[pgsim.RunKey, ledgerRow] { return s.ledger.Table }, func(k pgsim.RunKey, r ledgerRow) []any {
					return []any{k.Node, k.Path, r.status, shadow.Micros(r.Due), r.Token, r.Attempt, r.Redeliveries, r.owner, r.args, shadow.OrNull(r.done), r.result, r.failure}
				}),
			shadow.InstanceRows("arrivals", "node path source required reached watched args wait finish",
				func(s *Store) *db.Table[arrivalKey, arrivalRow] { return s.arrivals }, func(k arrivalKey, r arrivalRow) []any {
					return []any{k.Node, k.Path, k.source, r.required, r.reachedCount, r.watched, r.args, r.wait, r.finish}
				}),
			shadow.Values("inbox", "variable path element value", func(s *Store) *db.Table[pgsim.ValueKey, json.RawMessage] { return s.inbox }),
		},
		Sequences:        map[string]func(*world.World) int64{"tokens": shadow.Tokens},
		GeneratedColumns: map[string]int{"lock_scan": 1, "incarnation": 0},
		Loose:            map[string]bool{"runnable": true},
	}
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) {
	shadow.Test(t, designOf("pull", pull.ScanApp), designOf("pull:scan=sql", pull.ScanSQL))
}

func TestNumbers(t *testing.T) { shadow.TestNumbers(t, designOf("pull", pull.ScanApp)) }

// TestNoticed plants a changed row in each simulated table, and bugs in simulated statements.
func TestNoticed(t *testing.T) {
	shadow.TestNoticed(t, designOf("pull:scan=sql", pull.ScanSQL), []shadow.Difference{
		{What: "a run", Want: "simulated: ledger", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.ledger.Table, func(r ledgerRow) ledgerRow { r.Due += 1000; return r })
		})},
		{What: "a step", Want: "simulated: arrivals", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.arrivals, func(r arrivalRow) arrivalRow { r.reachedCount++; return r })
		})},
		{What: "a value", Want: "simulated: inbox", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.inbox, func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') })
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.NeedsCleanup = true; return i })
		})},
		{What: "cycles beside each other", Bug: cases.BugScansTogether, Want: "waits"},
		{What: "a token that is not asked for", Bug: cases.BugTokenIgnored, Want: "complete"},
		{What: "a lease with the token of before", Bug: cases.BugLeaseNotFenced, Want: "claim"},
		{What: "what stays with its dead", Bug: cases.BugNeverReclaimed, Want: "claim"},
		{What: "attempts that are not counted", Bug: cases.BugAttemptsForgotten, Want: "durable"},
		{What: "rounds that stay", Bug: cases.BugLoopReset, From: 780, Want: "clear_ledger"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", pull.SQL, slices.Sorted(maps.Keys(pullSQL)))
}
