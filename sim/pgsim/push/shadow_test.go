package push

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
	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/fingerprint"
	"pulley/sim/shadow"
	"pulley/sim/world"
)

// design is push to a shadow.
var design = shadow.Design{
	Name:  "push",
	Make:  func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
	Cases: 24,
	SetUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := push.Open(ctx, push.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	Clean: []string{`TRUNCATE queue, readiness, inbox, elements, commits, owners, instances, lives RESTART IDENTITY`, `ALTER SEQUENCE tokens RESTART`},
	Count: func(w *world.World) (string, []any) {
		s := w.Store.(*Store)
		return `SELECT setval('tokens', greatest($1::bigint, 1), $1::bigint > 0), setval('owners_id_seq', greatest($2::bigint, 1), $2::bigint > 0)`,
			[]any{s.Tokens.Last(), s.ownerIDs.Last()}
	},
	Heard: []string{"pulley_simulated"},
	Own:   map[string]int{},
	Loose: map[string]bool{},
	Lines: `
		SELECT format('queue %s of %s: %s %s due %s token %s attempt %s owner %s args %s', shard, instance_id, node, path, micros(due_at), token, attempt,
			owner, args) FROM queue
		UNION ALL SELECT format('readiness %s of %s: %s %s, %s of %s soft %s', shard, instance_id, node, path, completed, required, soft) FROM readiness
		UNION ALL SELECT format('inbox %s of %s: %s %s %s is %s', shard, instance_id, variable, path, element, value) FROM inbox
		UNION ALL SELECT format('elements %s of %s: %s %s from %s: %s are %s', shard, instance_id, node, path, first, places, vals) FROM elements
		UNION ALL SELECT format('commits %s of %s: %s number %s stale %s at %s', shard, backend, slot, number, stale, micros(at)) FROM commits
		UNION ALL SELECT format('owners %s is %s', id, name) FROM owners
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s since %s over %s input %s result %s failure %s', shard, id, workflow, status, untidy,
			micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	Rows: func(w *world.World) []string { return w.Store.(*Store).lines() },
}

// lines are all rows that are committed, in the words of the query for those of Postgres.
func (s *Store) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return shadow.Word(0, b) }
	s.queue.Committed(func(k pgsim.RunKey, q queued) bool {
		inst := s.World.Instances[k.Inst]
		add("queue %d of %s: %d %s due %d token %d attempt %d owner %s args %s", inst.Shard, inst.ID, k.Node, k.Path, shadow.Micros(q.due), q.token, q.attempt,
			shadow.OrNothing(int64(q.owner)), q.args)
		return true
	})
	s.readiness.Committed(func(k pgsim.RunKey, r readiness) bool {
		inst := s.World.Instances[k.Inst]
		add("readiness %d of %s: %d %s, %d of %d soft %s", inst.Shard, inst.ID, k.Node, k.Path, r.completed, r.required, truth(r.soft))
		return true
	})
	s.inbox.Committed(func(k pgsim.ValueKey, v json.RawMessage) bool {
		inst := s.World.Instances[k.Inst]
		add("inbox %d of %s: %d %s %d is %s", inst.Shard, inst.ID, k.ID, k.Path, k.Element, v)
		return true
	})
	s.elements.Committed(func(k pgsim.ValueKey, c collected) bool {
		inst := s.World.Instances[k.Inst]
		add("elements %d of %s: %d %s from %d: %s are %s", inst.Shard, inst.ID, k.ID, k.Path, k.Element, shadow.Word(0, c.places), shadow.Word(0, c.vals))
		return true
	})
	s.commits.Committed(func(k commitKey, c commitRow) bool {
		add("commits %d of %d: %d number %d stale %s at %d", k.shard, k.backend, k.slot, c.number, shadow.Word(0, c.stale), shadow.Micros(c.at))
		return true
	})
	s.owners.Committed(func(name string, id int32) bool {
		add("owners %d is %s", id, name)
		return true
	})
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
	shadow.TestNoticed(t, design, []shadow.Difference{
		{What: "an attempt", Want: "simulated: queue", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.queue, func(q queued) queued { q.attempt++; return q })
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
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.Untidy = !i.Untidy; return i })
		})},
		{What: "a token that is not asked for", Bug: cases.BugTokenIgnored, Want: "apply"},
		{What: "a count of what is stale", Bug: cases.BugReadinessBeforeGuard},
		{What: "a lease with the token of before", Bug: cases.BugLeaseNotFenced, Want: "claim"},
		{What: "what stays with its dead", Bug: cases.BugNeverReclaimed, Want: "claim"},
		{What: "attempts that are counted anew", Bug: cases.BugAttemptsForgotten, Want: "claim"},
		{What: "leases that are not renewed", Bug: cases.BugExtension, Want: "durable"},
		{What: "rounds that stay", Bug: cases.BugLoopReset, Want: "durable"},
		{What: "an end after the end", Bug: cases.BugEndedTwice},
		{What: "a lost commit that is found", Bug: cases.BugUnknownIsSuccess, Want: "fence"},
		{What: "what an end has left", Bug: cases.BugTidyUnseen, From: 336, Want: "durable"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", push.SQL, append(slices.Sorted(maps.Keys(pushSQL)), "apply"))
}
