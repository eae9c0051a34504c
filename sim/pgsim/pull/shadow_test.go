package pull

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/fingerprint"
	"pulley/sim/shadow"
	"pulley/sim/world"
)

// designOf is pull in one of its scans to a shadow.
func designOf(name string, scan pull.Scan) shadow.Design {
	return shadow.Design{
		Name:  name,
		Make:  func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
		Cases: 24,
		SetUp: func(ctx context.Context, cfg postgres.Config) error {
			b, err := pull.Open(ctx, pull.Config{Store: cfg, Scan: scan})
			if err == nil {
				b.Close()
			}
			return err
		},
		Clean: []string{`TRUNCATE ledger, arrivals, inbox, instances, lives`, `ALTER SEQUENCE tokens RESTART`},
		Count: func(w *world.World) (string, []any) {
			last := w.Store.(*Store).Tokens.Last()
			return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0)`, []any{last}
		},
		Heard: []string{"pulley_simulated"},
		Own:   map[string]int{"lock_cycle": 1, "life": 0},
		Loose: map[string]bool{"runnable": true},
		Lines: `
			SELECT format('ledger %s of %s: %s %s %s due %s token %s attempt %s owner %s args %s done %s result %s failure %s', shard, instance_id, node, path,
				status, micros(due_at), token, attempt, owner, args, done, result, failure) FROM ledger
			UNION ALL SELECT format('arrivals %s of %s: %s %s from %s required %s reached %s watched %s args %s wait %s finish %s', shard, instance_id, node, path,
				source, required, reached, watched, args, wait, finish) FROM arrivals
			UNION ALL SELECT format('inbox %s of %s: %s %s %s is %s', shard, instance_id, variable, path, element, value) FROM inbox
			UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
				micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
		Rows: func(w *world.World) []string { return w.Store.(*Store).lines() },
	}
}

// lines are all rows that are committed, in the words of the query for those of Postgres.
func (s *Store) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return shadow.Word(0, b) }
	s.ledger.Committed(func(k pgsim.RunKey, r ledgerRow) bool {
		add("ledger %d of %s: %d %s %s due %d token %d attempt %d owner %s args %s done %s result %s failure %s", r.inst.Shard, r.inst.ID, k.Node, k.Path,
			r.status, shadow.Micros(r.due), r.token, r.attempt, r.owner, plain(r.args), shadow.OrNothing(r.done), plain(r.result), plain(r.failure))
		return true
	})
	s.arrivals.Committed(func(k arrivalKey, r arrivalRow) bool {
		wait := ""
		if r.wait != nil {
			wait = fmt.Sprint(*r.wait)
		}
		add("arrivals %d of %s: %d %s from %s required %d reached %d watched %s args %s wait %s finish %s", r.inst.Shard, r.inst.ID, k.Node, k.Path,
			k.source, r.required, r.reached, truth(r.watched), plain(r.args), wait, plain(r.finish))
		return true
	})
	s.inbox.Committed(func(k pgsim.ValueKey, r inboxRow) bool {
		add("inbox %d of %s: %d %s %d is %s", r.inst.Shard, r.inst.ID, k.ID, k.Path, k.Element, r.value)
		return true
	})
	s.Instances.Committed(func(_ int32, r pgsim.InstanceRow) bool {
		add("instances %d %s program 1 %s untidy %s since %d over %s input %s result %s failure %s", r.Inst.Shard, r.Inst.ID, r.Status, truth(r.Untidy),
			shadow.Micros(r.Submitted), truth(r.Status != backend.Running), s.World.Workload.Input, r.Result, shadow.FailureText(r.Failure))
		return true
	})
	return out
}

// plain is a text, and nothing for null.
func plain(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) {
	shadow.Test(t, designOf("pull", pull.ScanApp), designOf("pull:scan=sql", pull.ScanSQL))
}

// TestNoticed plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticed(t *testing.T) {
	shadow.TestNoticed(t, designOf("pull:scan=sql", pull.ScanSQL), []shadow.Difference{
		{What: "a run", Want: "simulated: ledger", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.ledger, func(r ledgerRow) ledgerRow { r.due += 1000; return r })
		})},
		{What: "a step", Want: "simulated: arrivals", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.arrivals, func(r arrivalRow) arrivalRow { r.reached++; return r })
		})},
		{What: "a value", Want: "simulated: inbox", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.inbox, func(r inboxRow) inboxRow { r.value += " "; return r })
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.Untidy = true; return i })
		})},
		{What: "cycles beside each other", Bug: cases.BugCyclesTogether, Want: "waits"},
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
