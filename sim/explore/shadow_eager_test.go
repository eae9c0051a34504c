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
	"pulley/engine/backend/postgres/eager"
)

// theEager is eager to a shadow.
var theEager = shadowedDesign{
	name:  "eager",
	make:  func(w *world, m *statements) design { return newEagerStore(w, m) },
	cases: 24,
	setUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := eager.Open(ctx, eager.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	clean: []string{`TRUNCATE node_ready_state, node_pending_context, instance_eval_context, instances, lives`, `ALTER SEQUENCE tokens RESTART`},
	count: func(w *world) (string, []any) {
		last := w.store.(*eagerStore).tokens.Last()
		return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0)`, []any{last}
	},
	heard: []string{"pulley_simulated"},
	own:   map[string]int{"born": 1, "guard": 4, "life": 0},
	loose: map[string]bool{},
	lines: `
		SELECT format('nodes %s of %s: %s %s path %s, %s of %s soft %s queued %s completed %s due %s token %s attempt %s owner %s args %s', shard, instance_id,
			node, place, path, deps_satisfied, deps_required, soft, is_queued, is_completed, micros(due_at), token, attempt, owner, args) FROM node_ready_state
		UNION ALL SELECT format('pending %s of %s: %s %s %s is %s', shard, instance_id, node, place, element, payload) FROM node_pending_context
		UNION ALL SELECT format('context %s of %s: %s %s %s is %s', shard, instance_id, variable, scope, element, value) FROM instance_eval_context
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
			micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	rows: func(w *world) []string { return w.store.(*eagerStore).lines() },
}

// lines are all rows that are committed, in the words of theEager.
func (s *eagerStore) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return word(0, b) }
	s.nodes.Committed(func(k runKey, r nodeRow) bool {
		due, required := "", ""
		if r.due != never {
			due = fmt.Sprint(micros(r.due))
		}
		if r.required != unknownCount {
			required = fmt.Sprint(r.required)
		}
		inst := s.w.insts[k.inst]
		add("nodes %d of %s: %d %s path %s, %d of %s soft %s queued %s completed %s due %s token %s attempt %d owner %s args %s", inst.shard, inst.id,
			k.node, k.path, r.path, r.satisfied, required, truth(r.soft), truth(r.queued), truth(r.completed), due, orNothing(r.token), r.attempt, r.owner, r.args)
		return true
	})
	values := func(of string) func(valueKey, json.RawMessage) bool {
		return func(k valueKey, v json.RawMessage) bool {
			inst := s.w.insts[k.inst]
			add("%s %d of %s: %d %s %d is %s", of, inst.shard, inst.id, k.id, k.path, k.element, v)
			return true
		}
	}
	s.pending.Committed(values("pending"))
	s.context.Committed(values("context"))
	s.instances.Committed(func(_ int32, r instanceRow) bool {
		add("instances %d %s program 1 %s untidy %s since %d over %s input %s result %s failure %s", r.inst.shard, r.inst.id, r.status, truth(r.untidy),
			micros(r.submitted), truth(r.status != backend.Running), s.w.load.Input, r.result, failureText(r.failure))
		return true
	})
	return out
}

func TestShadowEager(t *testing.T) { testShadow(t, theEager) }

// TestNoticedEager plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticedEager(t *testing.T) {
	spaced := func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') }
	testNoticed(t, theEager, []noticeable{
		{what: "a node", want: "simulated: nodes", plant: onStore(func(w *world, s *eagerStore) bool {
			return planted(w, s.nodes, func(r nodeRow) nodeRow { r.attempt++; return r })
		})},
		{what: "a payload", want: "simulated: pending", from: 16, plant: onStore(func(w *world, s *eagerStore) bool {
			return planted(w, s.pending, spaced)
		})},
		{what: "a value", want: "simulated: context", plant: onStore(func(w *world, s *eagerStore) bool {
			return planted(w, s.context, spaced)
		})},
		{what: "an instance", want: "simulated: instances", plant: onStore(func(w *world, s *eagerStore) bool {
			return planted(w, s.instances, func(i instanceRow) instanceRow { i.untidy = true; return i })
		})},
		{what: "a token that is not asked for", bug: bugTokenIgnored, from: 48, want: "guard"},
		{what: "a lease with the token of before", bug: bugLeaseNotFenced, want: "claim"},
		{what: "what stays with its dead", bug: bugNeverReclaimed, want: "claim"},
		{what: "attempts that are counted anew", bug: bugAttemptsForgotten, from: 96, want: "claim"},
		{what: "rounds that stay", bug: bugLoopReset, want: "durable"},
		{what: "what is called off and at work", bug: bugGatesOpen, from: 768, want: "gates"},
		{what: "an end after the end", bug: bugEndedTwice},
		{what: "what an end has left", bug: bugTidyUnseen, from: 352, want: "durable"},
	})
}

func TestStatementsEager(t *testing.T) {
	unchanged(t, "testdata/eager_statements.txt", eager.SQL, append(slices.Sorted(maps.Keys(eagerSQL)), "apply"))
}
