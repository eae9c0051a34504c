package eager

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
	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/fingerprint"
	"pulley/sim/shadow"
	"pulley/sim/world"
)

// design is eager to a shadow.
var design = shadow.Design{
	Name:  "eager",
	Make:  func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
	Cases: 24,
	SetUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := eager.Open(ctx, eager.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	Clean: []string{`TRUNCATE node_ready_state, node_pending_context, instance_eval_context, instances, lives`, `ALTER SEQUENCE tokens RESTART`},
	Count: func(w *world.World) (string, []any) {
		last := w.Store.(*Store).Tokens.Last()
		return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0)`, []any{last}
	},
	Heard: []string{"pulley_simulated"},
	Own:   map[string]int{"born": 1, "guard": 4, "life": 0},
	Loose: map[string]bool{},
	Lines: `
		SELECT format('nodes %s of %s: %s %s path %s, %s of %s soft %s queued %s completed %s due %s token %s attempt %s owner %s args %s', shard, instance_id,
			node, place, path, deps_satisfied, deps_required, soft, is_queued, is_completed, micros(due_at), token, attempt, owner, args) FROM node_ready_state
		UNION ALL SELECT format('pending %s of %s: %s %s %s is %s', shard, instance_id, node, place, element, payload) FROM node_pending_context
		UNION ALL SELECT format('context %s of %s: %s %s %s is %s', shard, instance_id, variable, scope, element, value) FROM instance_eval_context
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
			micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	Rows: func(w *world.World) []string { return w.Store.(*Store).lines() },
}

// lines are all rows that are committed, in the words of the query for those of Postgres.
func (s *Store) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return shadow.Word(0, b) }
	s.nodes.Committed(func(k pgsim.RunKey, r nodeRow) bool {
		due, required := "", ""
		if r.due != pgsim.Never {
			due = fmt.Sprint(shadow.Micros(r.due))
		}
		if r.required != unknownCount {
			required = fmt.Sprint(r.required)
		}
		inst := s.World.Instances[k.Inst]
		add("nodes %d of %s: %d %s path %s, %d of %s soft %s queued %s completed %s due %s token %s attempt %d owner %s args %s", inst.Shard, inst.ID,
			k.Node, k.Path, r.path, r.satisfied, required, truth(r.soft), truth(r.queued), truth(r.completed), due, shadow.OrNothing(r.token), r.attempt, r.owner, r.args)
		return true
	})
	values := func(of string) func(pgsim.ValueKey, json.RawMessage) bool {
		return func(k pgsim.ValueKey, v json.RawMessage) bool {
			inst := s.World.Instances[k.Inst]
			add("%s %d of %s: %d %s %d is %s", of, inst.Shard, inst.ID, k.ID, k.Path, k.Element, v)
			return true
		}
	}
	s.pending.Committed(values("pending"))
	s.context.Committed(values("context"))
	s.Instances.Committed(func(_ int32, r pgsim.InstanceRow) bool {
		add("instances %d %s program 1 %s untidy %s since %d over %s input %s result %s failure %s", r.Inst.Shard, r.Inst.ID, r.Status, truth(r.Untidy),
			shadow.Micros(r.Submitted), truth(r.Status != backend.Running), s.World.Workload.Input, r.Result, shadow.FailureText(r.Failure))
		return true
	})
	return out
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) { shadow.Test(t, design) }

// TestNoticed plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticed(t *testing.T) {
	spaced := func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') }
	shadow.TestNoticed(t, design, []shadow.Difference{
		{What: "a node", Want: "simulated: nodes", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.nodes, func(r nodeRow) nodeRow { r.attempt++; return r })
		})},
		{What: "a payload", Want: "simulated: pending", From: 16, Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.pending, spaced)
		})},
		{What: "a value", Want: "simulated: context", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.context, spaced)
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.Untidy = true; return i })
		})},
		{What: "a token that is not asked for", Bug: cases.BugTokenIgnored, From: 48, Want: "guard"},
		{What: "a lease with the token of before", Bug: cases.BugLeaseNotFenced, Want: "claim"},
		{What: "what stays with its dead", Bug: cases.BugNeverReclaimed, Want: "claim"},
		{What: "attempts that are counted anew", Bug: cases.BugAttemptsForgotten, From: 96, Want: "claim"},
		{What: "rounds that stay", Bug: cases.BugLoopReset, Want: "durable"},
		{What: "what is cancelled and at work", Bug: cases.BugGatesOpen, From: 768, Want: "gates"},
		{What: "an end after the end", Bug: cases.BugEndedTwice},
		{What: "what an end has left", Bug: cases.BugTidyUnseen, From: 352, Want: "durable"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", eager.SQL, append(slices.Sorted(maps.Keys(eagerSQL)), "apply"))
}
