package journal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/sim/cases"
	"pulley/sim/pgsim"
	"pulley/sim/pgsim/fingerprint"
	"pulley/sim/shadow"
	"pulley/sim/world"
)

// design is the journal to a shadow.
var design = shadow.Design{
	Name:  "journal",
	Make:  func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
	Cases: 48,
	SetUp: func(ctx context.Context, cfg postgres.Config) error {
		b, err := journal.Open(ctx, journal.Config{Store: cfg})
		if err == nil {
			b.Close()
		}
		return err
	},
	Clean: []string{
		`TRUNCATE events, leases, requests, owners, instances, shards, lives`,
		`INSERT INTO shards (shard, expires_at) SELECT n, timestamptz '2000-01-01 00:00:00+00' FROM generate_series(0, $1::int - 1) AS n`,
	},
	Heard: []string{"owner"},
	Own:   map[string]int{"life": 0},
	Loose: map[string]bool{"take_requests": true, "renew": true, "settle": true, "ended_by": true},
	Lines: `
		SELECT format('shards %s epoch %s owner %s, before %s, until %s', shard, epoch, owner, previous, micros(expires_at)) FROM shards
		UNION ALL SELECT format('owners %s seen %s', name, micros(seen_at)) FROM owners
		UNION ALL SELECT format('events %s %s epoch %s kind %s of %s: %s %s at %s data %s', shard, seq, epoch, kind, instance_id, node, path,
			micros(happened_at), encode(data, 'hex')) FROM events
		UNION ALL SELECT format('leases %s of %s: %s %s token %s until %s', shard, instance_id, node, path, token, micros(expires_at)) FROM leases
		UNION ALL SELECT format('requests %s %s taken %s withdrawn %s sent %s applied %s body %s answer %s', shard, id, taken, withdrawn, micros(sent_at),
			applied, encode(body, 'hex'), encode(answer, 'hex')) FROM requests
		UNION ALL SELECT format('instances %s %s program %s %s untidy %s pending %s by %s state %s since %s over %s input %s result %s failure %s', shard, id,
			workflow, status, untidy, pending, ended_by, snapshot, micros(submitted_at), ended_at IS NOT NULL, input, result, failure) FROM instances`,
	Rows: func(w *world.World) []string { return w.Store.(*Store).lines() },
}

// lines are all rows that are committed, in the words of the query for those of Postgres.
func (s *Store) lines() (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	truth := func(b bool) string { return shadow.Word(0, b) }
	s.shards.Committed(func(shard int, r shardRow) bool {
		add("shards %d epoch %d owner %s, before %s, until %d", shard, r.epoch, r.owner, r.previous, shadow.Micros(r.expires))
		return true
	})
	s.owners.Committed(func(name string, seen int64) bool {
		add("owners %s seen %d", name, shadow.Micros(seen))
		return true
	})
	s.events.Committed(func(k eventKey, e eventRow) bool {
		at := ""
		if e.happened != pgsim.Never {
			at = fmt.Sprint(shadow.Micros(e.happened))
		}
		add("events %d %d epoch %d kind %d of %s: %d %s at %s data %x", k.shard, k.seq, e.epoch, e.kind, e.inst.ID, e.run.Node, e.run.Path, at, e.data)
		return true
	})
	s.leases.Committed(func(k leaseKey, l leaseRow) bool {
		add("leases %d of %s: %d %s token %d until %d", k.shard, l.inst.ID, k.Node, k.Path, l.token, shadow.Micros(l.expires))
		return true
	})
	s.requests.Committed(func(k requestKey, r requestRow) bool {
		applied := ""
		if r.applied != nil {
			applied = shadow.Word(0, r.applied)
		}
		add("requests %d %s taken %s withdrawn %s sent %d applied %s body %x answer %x", k.shard, k.id, truth(r.taken), truth(r.withdrawn),
			shadow.Micros(r.sent), applied, r.body, r.answer)
		return true
	})
	s.Instances.Committed(func(_ int32, r pgsim.InstanceRow) bool {
		add("instances %d %s program 1 %s untidy %s pending %s by %s state %s since %d over %s input %s result %s failure %s", r.Inst.Shard, r.Inst.ID, r.Status,
			truth(r.Untidy), truth(r.Pending), shadow.OrNothing(r.EndedBy), shadow.OrNothing(r.Snapshot), shadow.Micros(r.Submitted), truth(r.Status != backend.Running),
			s.World.Workload.Input, r.Result, shadow.FailureText(r.Failure))
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
		{What: "a shard", Want: "simulated: shards", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.shards, func(r shardRow) shardRow { r.previous += "!"; return r })
		})},
		{What: "an owner", Want: "simulated: owners", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.owners, func(seen int64) int64 { return seen + 1000 })
		})},
		{What: "an event", Want: "simulated: events", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.events, func(e eventRow) eventRow { e.epoch++; return e })
		})},
		{What: "a lease", Want: "simulated: leases", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.leases, func(l leaseRow) leaseRow { l.expires += 1000; return l })
		})},
		{What: "a request", Want: "simulated: requests", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.requests, func(r requestRow) requestRow { r.sent -= 1000; return r })
		})},
		{What: "an instance", Want: "simulated: instances", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.Instances, func(i pgsim.InstanceRow) pgsim.InstanceRow { i.Status = backend.Failed; return i })
		})},
		{What: "no fence", Bug: cases.BugEpochIgnored, From: 340},
		{What: "an epoch that is no key", Bug: cases.BugEpochNoKey, From: 2300, Want: "waits"},
		{What: "an epoch that stays", Bug: cases.BugEpochKept, Want: "acquire"},
		{What: "leases that are not seen", Bug: cases.BugLeasesForgotten, Want: "take_leases"},
		{What: "an order", Bug: cases.BugReplayOrder, From: 10, Want: "load_events"},
		{What: "a request that was withdrawn", Bug: cases.BugWithdrawnApplied, From: 5140, Want: "journal_mark"},
		{What: "states that are not stored", Bug: cases.BugStateForgotten, From: 140, Want: "durable"},
		{What: "instances that stay pending", Bug: cases.BugAdoptedTwice, Want: "durable"},
		{What: "retries that are not stored", Bug: cases.BugAttemptsForgotten, From: 40, Want: "durable"},
		{What: "shards that stay with their dead", Bug: cases.BugNeverReclaimed, Want: "acquire"},
		{What: "an end after the end", Bug: cases.BugEndedTwice, From: 110, Want: "durable"},
		{What: "an owner of before", Bug: cases.BugRenewUnfenced, From: 16},
		{What: "a lost append that is found", Bug: cases.BugUnknownIsSuccess, From: 330, Want: "settle"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", journal.SQL, append(slices.Sorted(maps.Keys(journalSQL)), "append", "mark", "submit_pending"))
}
