package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
)

// pullOf is pull in one of its scans to a shadow.
func pullOf(name string, scan pull.Scan) shadowedDesign {
	return shadowedDesign{
		name:  name,
		make:  func(w *world, m *statements) design { return newPullStore(w, m) },
		cases: 24,
		setUp: func(ctx context.Context, cfg postgres.Config) error {
			b, err := pull.Open(ctx, pull.Config{Store: cfg, Scan: scan})
			if err == nil {
				b.Close()
			}
			return err
		},
		clean: []string{`TRUNCATE ledger, arrivals, inbox, instances, lives`, `ALTER SEQUENCE tokens RESTART`},
		count: func(w *world) (string, []any) {
			last := w.store.(*pullStore).tokens.Last()
			return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0)`, []any{last}
		},
		heard: []string{"pulley_simulated"},
		own:   map[string]int{"lock_cycle": 1, "life": 0},
		loose: map[string]bool{"runnable": true},
		lines: `
			SELECT format('ledger %s of %s: %s %s %s due %s token %s attempt %s owner %s args %s done %s result %s failure %s', shard, instance_id, node, path,
				status, micros(due_at), token, attempt, owner, args, done, result, failure) FROM ledger
			UNION ALL SELECT format('arrivals %s of %s: %s %s from %s required %s reached %s watched %s args %s wait %s finish %s', shard, instance_id, node, path,
				source, required, reached, watched, args, wait, finish) FROM arrivals
			UNION ALL SELECT format('inbox %s of %s: %s %s %s is %s', shard, instance_id, variable, path, element, value) FROM inbox
			UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
				micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
		rows: func(w *world) []string { return w.store.(*pullStore).lines() },
	}
}

// lines are all rows that are committed, in the words of pullOf.
func (s *pullStore) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return word(0, b) }
	s.ledger.Committed(func(k runKey, r ledgerRow) bool {
		add("ledger %d of %s: %d %s %s due %d token %d attempt %d owner %s args %s done %s result %s failure %s", r.inst.shard, r.inst.id, k.node, k.path,
			r.status, micros(r.due), r.token, r.attempt, r.owner, plain(r.args), orNothing(r.done), plain(r.result), plain(r.failure))
		return true
	})
	s.arrivals.Committed(func(k arrivalKey, r arrivalRow) bool {
		wait := ""
		if r.wait != nil {
			wait = fmt.Sprint(*r.wait)
		}
		add("arrivals %d of %s: %d %s from %s required %d reached %d watched %s args %s wait %s finish %s", r.inst.shard, r.inst.id, k.node, k.path,
			k.source, r.required, r.reached, truth(r.watched), plain(r.args), wait, plain(r.finish))
		return true
	})
	s.inbox.Committed(func(k valueKey, r inboxRow) bool {
		add("inbox %d of %s: %d %s %d is %s", r.inst.shard, r.inst.id, k.id, k.path, k.element, r.value)
		return true
	})
	s.instances.Committed(func(_ int32, r instanceRow) bool {
		add("instances %d %s program 1 %s untidy %s since %d over %s input %s result %s failure %s", r.inst.shard, r.inst.id, r.status, truth(r.untidy),
			micros(r.submitted), truth(r.status != backend.Running), s.w.load.Input, r.result, failureText(r.failure))
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

func TestShadowPull(t *testing.T) {
	testShadow(t, pullOf("pull", pull.ScanApp), pullOf("pull:scan=sql", pull.ScanSQL))
}

// TestNoticedPull plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticedPull(t *testing.T) {
	testNoticed(t, pullOf("pull:scan=sql", pull.ScanSQL), []noticeable{
		{what: "a run", want: "simulated: ledger", plant: onStore(func(w *world, s *pullStore) bool {
			return planted(w, s.ledger, func(r ledgerRow) ledgerRow { r.due += 1000; return r })
		})},
		{what: "a step", want: "simulated: arrivals", plant: onStore(func(w *world, s *pullStore) bool {
			return planted(w, s.arrivals, func(r arrivalRow) arrivalRow { r.reached++; return r })
		})},
		{what: "a value", want: "simulated: inbox", plant: onStore(func(w *world, s *pullStore) bool {
			return planted(w, s.inbox, func(r inboxRow) inboxRow { r.value += " "; return r })
		})},
		{what: "an instance", want: "simulated: instances", plant: onStore(func(w *world, s *pullStore) bool {
			return planted(w, s.instances, func(i instanceRow) instanceRow { i.untidy = true; return i })
		})},
		{what: "cycles beside each other", bug: bugCyclesTogether, want: "waits"},
		{what: "a token that is not asked for", bug: bugTokenIgnored, want: "complete"},
		{what: "a lease with the token of before", bug: bugLeaseNotFenced, want: "claim"},
		{what: "what stays with its dead", bug: bugNeverReclaimed, want: "claim"},
		{what: "attempts that are not counted", bug: bugAttemptsForgotten, want: "durable"},
		{what: "rounds that stay", bug: bugLoopReset, from: 780, want: "clear_ledger"},
	})
}

func TestStatementsPull(t *testing.T) {
	unchanged(t, "testdata/pull_statements.txt", pull.SQL, slices.Sorted(maps.Keys(pullSQL)))
}
