package explore

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
)

// thePush is push to a shadow.
var thePush = design{
	name:  "push",
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
