package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
)

// thePush is push to a shadow.
var thePush = shadowedDesign{
	name:  "push",
	make:  func(w *world, m *statements) design { return newPushStore(w, m) },
	cases: 24,
	setUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := push.Open(ctx, push.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	clean: []string{`TRUNCATE queue, readiness, inbox, elements, commits, owners, instances, lives RESTART IDENTITY`, `ALTER SEQUENCE tokens RESTART`},
	count: func(w *world) (string, []any) {
		s := w.store.(*pushStore)
		return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0), setval('owners_id_seq', greatest($2::bigint, 1), $2::bigint > 0)`,
			[]any{s.tokens.Last(), s.ownerIDs.Last()}
	},
	heard: []string{"pulley_simulated"},
	own:   map[string]int{},
	loose: map[string]bool{},
	lines: `
		SELECT format('queue %s of %s: %s %s due %s token %s attempt %s owner %s args %s', shard, instance_id, node, path, micros(due_at), token, attempt,
			owner, args) FROM queue
		UNION ALL SELECT format('readiness %s of %s: %s %s, %s of %s soft %s', shard, instance_id, node, path, completed, required, soft) FROM readiness
		UNION ALL SELECT format('inbox %s of %s: %s %s %s is %s', shard, instance_id, variable, path, element, value) FROM inbox
		UNION ALL SELECT format('elements %s of %s: %s %s from %s: %s are %s', shard, instance_id, node, path, first, places, vals) FROM elements
		UNION ALL SELECT format('commits %s of %s: %s number %s stale %s at %s', shard, backend, slot, number, stale, micros(at)) FROM commits
		UNION ALL SELECT format('owners %s is %s', id, name) FROM owners
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
			micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	rows: func(w *world) []string { return w.store.(*pushStore).lines() },
}

// lines are all rows that are committed, in the words of thePush.
func (s *pushStore) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return word(0, b) }
	s.queue.Committed(func(k runKey, q queued) bool {
		inst := s.w.insts[k.inst]
		add("queue %d of %s: %d %s due %d token %d attempt %d owner %s args %s", inst.shard, inst.id, k.node, k.path, micros(q.due), q.token, q.attempt,
			orNothing(int64(q.owner)), q.args)
		return true
	})
	s.readiness.Committed(func(k runKey, r readiness) bool {
		inst := s.w.insts[k.inst]
		add("readiness %d of %s: %d %s, %d of %d soft %s", inst.shard, inst.id, k.node, k.path, r.completed, r.required, truth(r.soft))
		return true
	})
	s.inbox.Committed(func(k valueKey, v json.RawMessage) bool {
		inst := s.w.insts[k.inst]
		add("inbox %d of %s: %d %s %d is %s", inst.shard, inst.id, k.id, k.path, k.element, v)
		return true
	})
	s.elements.Committed(func(k valueKey, c collected) bool {
		inst := s.w.insts[k.inst]
		add("elements %d of %s: %d %s from %d: %s are %s", inst.shard, inst.id, k.id, k.path, k.element, word(0, c.places), word(0, c.vals))
		return true
	})
	s.commits.Committed(func(k commitKey, c commitRow) bool {
		add("commits %d of %d: %d number %d stale %s at %d", k.shard, k.backend, k.slot, c.number, word(0, c.stale), micros(c.at))
		return true
	})
	s.owners.Committed(func(name string, id int32) bool {
		add("owners %d is %s", id, name)
		return true
	})
	s.instances.Committed(func(_ int32, r instanceRow) bool {
		add("instances %d %s program 1 %s untidy %s since %d over %s input %s result %s failure %s", r.inst.shard, r.inst.id, r.status, truth(r.untidy),
			micros(r.submitted), truth(r.status != backend.Running), s.w.load.Input, r.result, failureText(r.failure))
		return true
	})
	return out
}

func TestShadowPush(t *testing.T) { testShadow(t, thePush) }

// TestNoticedPush plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticedPush(t *testing.T) {
	testNoticed(t, thePush, []noticeable{
		{what: "an attempt", want: "simulated: queue", plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.queue, func(q queued) queued { q.attempt++; return q })
		})},
		{what: "a count", want: "simulated: readiness", from: 16, plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.readiness, func(r readiness) readiness { r.required++; return r })
		})},
		{what: "a value", want: "simulated: inbox", plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.inbox, func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') })
		})},
		{what: "a place", want: "simulated: elements", from: 16, plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.elements, func(c collected) collected {
				c.places = slices.Clone(c.places)
				c.places[0]++
				return c
			})
		})},
		{what: "a mark", want: "simulated: commits", plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.commits, func(c commitRow) commitRow { c.number++; return c })
		})},
		{what: "an owner", want: "simulated: owners", plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.owners, func(id int32) int32 { return id + 1000 })
		})},
		{what: "an instance", want: "simulated: instances", plant: onStore(func(w *world, s *pushStore) bool {
			return planted(w, s.instances, func(i instanceRow) instanceRow { i.untidy = !i.untidy; return i })
		})},
		{what: "a token that is not asked for", bug: bugTokenIgnored, want: "apply"},
		{what: "a count of what is stale", bug: bugReadinessBeforeGuard},
		{what: "a lease with the token of before", bug: bugLeaseNotFenced, want: "claim"},
		{what: "what stays with its dead", bug: bugNeverReclaimed, want: "claim"},
		{what: "attempts that are counted anew", bug: bugAttemptsForgotten, want: "claim"},
		{what: "leases that are not prolonged", bug: bugExtension, want: "durable"},
		{what: "rounds that stay", bug: bugLoopReset, want: "durable"},
		{what: "an end after the end", bug: bugEndedTwice},
		{what: "a lost commit that is found", bug: bugUnknownIsSuccess, want: "fence"},
		{what: "what an end has left", bug: bugTidyUnseen, from: 336, want: "durable"},
	})
}

func TestStatementsPush(t *testing.T) {
	unchanged(t, "testdata/push_statements.txt", push.SQL, append(slices.Sorted(maps.Keys(pushSQL)), "apply"))
}
