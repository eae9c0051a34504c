package journal

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/internal/fingerprint"
	"pulley/sim/internal/shadow"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

var design = shadow.Design{
	Name:      "journal",
	NewDesign: func(w *world.World, m *pgsim.Memory) pgsim.Design { return New(w, m) },
	Open: func(ctx context.Context, cfg postgres.Config) (shadow.Opened, error) {
		return journal.Open(ctx, journal.Config{Store: cfg})
	},
	Cases:            48,
	Fill:             `INSERT INTO shards (shard, expires_at) SELECT n, timestamptz '2000-01-01 00:00:00+00' FROM generate_series(0, $1::int - 1) AS n`,
	NotifyChannel:    "owner",
	GeneratedColumns: map[string]int{"incarnation": 0},
	Loose:            map[string]bool{"fetch_requests": true, "renew": true, "resolve": true, "ended_by": true},
	Tables: []shadow.Table{
		shadow.Rows("shards", "shard epoch since owner micros(expires_at) counted", func(s *Store) *db.Table[int, shardRow] { return s.shards },
			func(shard int, r shardRow) []any {
				return []any{shard, r.epoch, r.since, r.owner, shadow.Micros(r.expires), r.counted}
			}),
		shadow.Rows("owners", "name micros(seen_at)", func(s *Store) *db.Table[string, int64] { return s.owners },
			func(name string, seen int64) []any { return []any{name, shadow.Micros(seen)} }),
		shadow.Rows("events", "shard seq epoch kind instance_id node path micros(happened_at) encode(data,'hex')",
			func(s *Store) *db.Table[eventKey, eventRow] { return s.events }, func(k eventKey, e eventRow) []any {
				var at any
				if e.happenedAt != pgsim.Never {
					at = shadow.Micros(e.happenedAt)
				}
				return []any{k.shard, k.seq, e.epoch, e.kind, e.inst.ID, int32(e.run.Node), e.run.Path, at, hex.EncodeToString(e.data)}
			}),
		shadow.Rows("leases", "shard instance_id node path token micros(expires_at)", func(s *Store) *db.Table[leaseKey, leaseRow] { return s.leases },
			func(k leaseKey, l leaseRow) []any {
				return []any{k.shard, l.inst.ID, k.Node, k.Path, l.token, shadow.Micros(l.expires)}
			}),
		shadow.Rows("requests", "shard id fetched withdrawn micros(sent_at) applied encode(body,'hex') encode(answer,'hex')",
			func(s *Store) *db.Table[requestKey, requestRow] { return s.requests }, func(k requestKey, r requestRow) []any {
				var applied any
				if r.applied != nil {
					applied = r.applied
				}
				return []any{k.shard, k.id, r.isTaken, r.withdrawn, shadow.Micros(r.sent), applied, hex.EncodeToString(r.body), hex.EncodeToString(r.answer)}
			}),
		shadow.Rows("instances", "id pending ended_by snapshot", func(s *Store) *db.Table[int32, pgsim.InstanceRow] { return s.Instances },
			func(_ int32, r pgsim.InstanceRow) []any {
				return []any{r.Inst.ID, r.Pending, shadow.OrNull(r.EndedBy), shadow.OrNull(r.Snapshot)}
			}),
	},
}

func TestMain(m *testing.M) { shadow.Main(m) }

func TestShadow(t *testing.T) { shadow.Test(t, design) }

// TestNoticed plants a changed row in each simulated table, and bugs in simulated statements.
func TestNoticed(t *testing.T) {
	shadow.TestNoticed(t, design, []shadow.Difference{
		{What: "a shard", Want: "simulated: shards", Plant: shadow.On(func(w *world.World, s *Store) bool {
			return shadow.Planted(w, s.shards, func(r shardRow) shardRow { r.since++; return r })
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
		{What: "leases that are not seen", Bug: cases.BugLeasesForgotten, Want: "adopt_leases"},
		{What: "an order", Bug: cases.BugReplayOrder, From: 10, Want: "load_events"},
		{What: "a request that was withdrawn", Bug: cases.BugWithdrawnApplied, From: 1820, Want: "journal_mark"},
		{What: "states that are not stored", Bug: cases.BugStateForgotten, From: 140, Want: "durable"},
		{What: "instances that stay pending", Bug: cases.BugAdoptedTwice, Want: "durable"},
		{What: "retries that are not stored", Bug: cases.BugAttemptsForgotten, From: 40, Want: "durable"},
		{What: "shards that stay with their dead", Bug: cases.BugNeverReclaimed, Want: "acquire"},
		{What: "an end after the end", Bug: cases.BugEndedTwice, From: 110, Want: "durable"},
		{What: "an owner of before", Bug: cases.BugRenewUnfenced, From: 16},
		{What: "a lost append that is found", Bug: cases.BugUnknownIsSuccess, From: 330, Want: "resolve"},
	})
}

func TestStatements(t *testing.T) {
	fingerprint.Unchanged(t, "testdata/statements.txt", journal.SQL, append(slices.Sorted(maps.Keys(journalSQL)), "append", "mark_request", "submit_pending"))
}
