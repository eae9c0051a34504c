package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
)

// theJournal is the journal to a shadow.
var theJournal = shadowedDesign{
	name:  "journal",
	make:  func(w *world, m *statements) design { return newJournalStore(w, m) },
	cases: 48,
	setUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := journal.Open(ctx, journal.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	clean: []string{
		`TRUNCATE events, leases, requests, owners, instances, shards, lives`,
		`INSERT INTO shards (shard, expires_at) SELECT n, timestamptz '2000-01-01 00:00:00+00' FROM generate_series(0, $1::int - 1) AS n`,
	},
	heard: []string{"owner"},
	own:   map[string]int{"life": 0},
	loose: map[string]bool{"take_requests": true, "renew": true, "settle": true, "ended_by": true},
	lines: `
		SELECT format('shards %s epoch %s owner %s, before %s, until %s', shard, epoch, owner, previous, micros(expires_at)) FROM shards
		UNION ALL SELECT format('owners %s seen %s', name, micros(seen_at)) FROM owners
		UNION ALL SELECT format('events %s %s epoch %s kind %s of %s: %s %s at %s data %s', shard, seq, epoch, kind, instance_id, node, path,
			micros(happened_at), encode(data, 'hex')) FROM events
		UNION ALL SELECT format('leases %s of %s: %s %s token %s until %s', shard, instance_id, node, path, token, micros(expires_at)) FROM leases
		UNION ALL SELECT format('requests %s %s taken %s withdrawn %s sent %s applied %s body %s answer %s', shard, id, taken, withdrawn, micros(sent_at),
			applied, encode(body, 'hex'), encode(answer, 'hex')) FROM requests
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s pending %s by %s state %s since %s over %s input %s result %s failure %s', shard, id,
			workflow, status, untidy, pending, ended_by, snapshot, micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	rows: func(w *world) []string { return w.store.(*journalStore).lines() },
}

// lines are all rows that are committed, in the words of theJournal.lines.
func (s *journalStore) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return word(0, b) }
	s.shards.Committed(func(shard int, r shardRow) bool {
		add("shards %d epoch %d owner %s, before %s, until %d", shard, r.epoch, r.owner, r.previous, micros(r.expires))
		return true
	})
	s.owners.Committed(func(name string, seen int64) bool {
		add("owners %s seen %d", name, micros(seen))
		return true
	})
	s.events.Committed(func(k eventKey, e eventRow) bool {
		at := ""
		if e.happened != never {
			at = fmt.Sprint(micros(e.happened))
		}
		add("events %d %d epoch %d kind %d of %s: %d %s at %s data %x", k.shard, k.seq, e.epoch, e.kind, e.inst.id, e.run.Node, e.run.Path, at, e.data)
		return true
	})
	s.leases.Committed(func(k leaseKey, l leaseRow) bool {
		add("leases %d of %s: %d %s token %d until %d", k.shard, l.inst.id, k.node, k.path, l.token, micros(l.expires))
		return true
	})
	s.requests.Committed(func(k requestKey, r requestRow) bool {
		applied := ""
		if r.applied != nil {
			applied = word(0, r.applied)
		}
		add("requests %d %s taken %s withdrawn %s sent %d applied %s body %x answer %x", k.shard, k.id, truth(r.taken), truth(r.withdrawn),
			micros(r.sent), applied, r.body, r.answer)
		return true
	})
	s.instances.Committed(func(_ int32, r instanceRow) bool {
		add("instances %d %s program 1 %s untidy %s pending %s by %s state %s since %d over %s input %s result %s failure %s", r.inst.shard, r.inst.id, r.status,
			truth(r.untidy), truth(r.pending), orNothing(r.endedBy), orNothing(r.snapshot), micros(r.submitted), truth(r.status != backend.Running),
			s.w.load.Input, r.result, failureText(r.failure))
		return true
	})
	return out
}

func TestShadowJournal(t *testing.T) { testShadow(t, theJournal) }

// TestNoticedJournal plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements.
func TestNoticedJournal(t *testing.T) {
	testNoticed(t, theJournal, []noticeable{
		{what: "a shard", want: "simulated: shards", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.shards, func(r shardRow) shardRow { r.previous += "!"; return r })
		})},
		{what: "an owner", want: "simulated: owners", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.owners, func(seen int64) int64 { return seen + 1000 })
		})},
		{what: "an event", want: "simulated: events", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.events, func(e eventRow) eventRow { e.epoch++; return e })
		})},
		{what: "a lease", want: "simulated: leases", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.leases, func(l leaseRow) leaseRow { l.expires += 1000; return l })
		})},
		{what: "a request", want: "simulated: requests", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.requests, func(r requestRow) requestRow { r.sent -= 1000; return r })
		})},
		{what: "an instance", want: "simulated: instances", plant: onStore(func(w *world, s *journalStore) bool {
			return planted(w, s.instances, func(i instanceRow) instanceRow { i.status = backend.Failed; return i })
		})},
		{what: "no fence", bug: bugEpochIgnored, from: 340},
		{what: "an epoch that is no key", bug: bugEpochNoKey, from: 2300, want: "waits"},
		{what: "an epoch that stays", bug: bugEpochKept, want: "acquire"},
		{what: "leases that are not seen", bug: bugLeasesForgotten, want: "take_leases"},
		{what: "an order", bug: bugReplayOrder, from: 10, want: "load_events"},
		{what: "a request that was withdrawn", bug: bugWithdrawnApplied, from: 5140, want: "journal_mark"},
		{what: "states that are not stored", bug: bugStateForgotten, from: 140, want: "durable"},
		{what: "instances that stay pending", bug: bugAdoptedTwice, want: "durable"},
		{what: "retries that are not stored", bug: bugAttemptsForgotten, from: 40, want: "durable"},
		{what: "shards that stay with their dead", bug: bugNeverReclaimed, want: "acquire"},
		{what: "an end after the end", bug: bugEndedTwice, from: 110, want: "durable"},
		{what: "an owner of before", bug: bugRenewUnfenced, from: 16},
		{what: "a lost append that is found", bug: bugUnknownIsSuccess, from: 330, want: "settle"},
	})
}

func TestStatementsJournal(t *testing.T) {
	unchanged(t, "testdata/journal_statements.txt", journal.SQL, append(slices.Sorted(maps.Keys(journalSQL)), "append", "mark", "submit_pending"))
}
