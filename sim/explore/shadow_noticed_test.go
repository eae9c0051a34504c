package explore

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/pull"
	"pulley/internal/depth"
)

// TestShadowIsNoticed plants differences between the simulated server and Postgres: a changed row in each simulated table, and
// bugs in simulated statements. Each must be noticed. Before each change those are looked for that are in the first cases.
func TestShadowIsNoticed(t *testing.T) {
	p, d := newOnPostgres(t, theJournal), &drawn{}
	journal := func(change func(*world, *journalStore) bool) func(*world) bool {
		return func(w *world) bool { return change(w, w.store.(*journalStore)) }
	}
	for _, c := range []noticeable{
		{what: "a shard", want: "simulated: shards", plant: journal(func(w *world, s *journalStore) bool {
			return planted(w, s.shards, func(r shardRow) shardRow { r.previous += "!"; return r })
		})},
		{what: "an owner", want: "simulated: owners", plant: journal(func(w *world, s *journalStore) bool {
			return planted(w, s.owners, func(seen int64) int64 { return seen + 1000 })
		})},
		{what: "an event", want: "simulated: events", plant: journal(func(w *world, s *journalStore) bool {
			return planted(w, s.events, func(e eventRow) eventRow { e.epoch++; return e })
		})},
		{what: "a lease", want: "simulated: leases", plant: journal(func(w *world, s *journalStore) bool {
			return planted(w, s.leases, func(l leaseRow) leaseRow { l.expires += 1000; return l })
		})},
		{what: "a request", want: "simulated: requests", plant: journal(func(w *world, s *journalStore) bool {
			return planted(w, s.requests, func(r requestRow) requestRow { r.sent -= 1000; return r })
		})},
		{what: "an instance", want: "simulated: instances", plant: journal(func(w *world, s *journalStore) bool {
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
	} {
		if c.now() {
			t.Run(c.what, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// TestShadowOfPullIsNoticed is TestShadowIsNoticed of pull.
func TestShadowOfPullIsNoticed(t *testing.T) {
	p, d := newOnPostgres(t, pullOf("pull:scan=sql", pull.ScanSQL)), &drawn{}
	store := func(change func(*world, *pullStore) bool) func(*world) bool {
		return func(w *world) bool { return change(w, w.store.(*pullStore)) }
	}
	for _, c := range []noticeable{
		{what: "a run", want: "simulated: ledger", plant: store(func(w *world, s *pullStore) bool {
			return planted(w, s.ledger, func(r ledgerRow) ledgerRow { r.due += 1000; return r })
		})},
		{what: "a step", want: "simulated: arrivals", plant: store(func(w *world, s *pullStore) bool {
			return planted(w, s.arrivals, func(r arrivalRow) arrivalRow { r.reached++; return r })
		})},
		{what: "a value", want: "simulated: inbox", plant: store(func(w *world, s *pullStore) bool {
			return planted(w, s.inbox, func(r inboxRow) inboxRow { r.value += " "; return r })
		})},
		{what: "an instance", want: "simulated: instances", plant: store(func(w *world, s *pullStore) bool {
			return planted(w, s.instances, func(i instanceRow) instanceRow { i.untidy = true; return i })
		})},
		{what: "cycles beside each other", bug: bugCyclesTogether, want: "waits"},
		{what: "a token that is not asked for", bug: bugTokenIgnored, want: "complete"},
		{what: "a lease with the token of before", bug: bugLeaseNotFenced, want: "claim"},
		{what: "what stays with its dead", bug: bugNeverReclaimed, want: "claim"},
		{what: "attempts that are not counted", bug: bugAttemptsForgotten, want: "durable"},
		{what: "rounds that stay", bug: bugLoopReset, from: 780, want: "clear_ledger"},
	} {
		if c.now() {
			t.Run(c.what, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// TestShadowOfEagerIsNoticed is TestShadowIsNoticed of eager.
func TestShadowOfEagerIsNoticed(t *testing.T) {
	p, d := newOnPostgres(t, theEager), &drawn{}
	store := func(change func(*world, *eagerStore) bool) func(*world) bool {
		return func(w *world) bool { return change(w, w.store.(*eagerStore)) }
	}
	spaced := func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') }
	for _, c := range []noticeable{
		{what: "a node", want: "simulated: nodes", plant: store(func(w *world, s *eagerStore) bool {
			return planted(w, s.nodes, func(r nodeRow) nodeRow { r.attempt++; return r })
		})},
		{what: "a payload", want: "simulated: pending", from: 16, plant: store(func(w *world, s *eagerStore) bool {
			return planted(w, s.pending, spaced)
		})},
		{what: "a value", want: "simulated: context", plant: store(func(w *world, s *eagerStore) bool {
			return planted(w, s.context, spaced)
		})},
		{what: "an instance", want: "simulated: instances", plant: store(func(w *world, s *eagerStore) bool {
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
	} {
		if c.now() {
			t.Run(c.what, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// TestShadowOfPushIsNoticed is TestShadowIsNoticed of push.
func TestShadowOfPushIsNoticed(t *testing.T) {
	p, d := newOnPostgres(t, thePush), &drawn{}
	store := func(change func(*world, *pushStore) bool) func(*world) bool {
		return func(w *world) bool { return change(w, w.store.(*pushStore)) }
	}
	for _, c := range []noticeable{
		{what: "an attempt", want: "simulated: queue", plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.queue, func(q queued) queued { q.attempt++; return q })
		})},
		{what: "a count", want: "simulated: readiness", from: 16, plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.readiness, func(r readiness) readiness { r.required++; return r })
		})},
		{what: "a value", want: "simulated: inbox", plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.inbox, func(v json.RawMessage) json.RawMessage { return append(slices.Clone(v), ' ') })
		})},
		{what: "a place", want: "simulated: elements", from: 16, plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.elements, func(c collected) collected {
				c.places = slices.Clone(c.places)
				c.places[0]++
				return c
			})
		})},
		{what: "a mark", want: "simulated: commits", plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.commits, func(c commitRow) commitRow { c.number++; return c })
		})},
		{what: "an owner", want: "simulated: owners", plant: store(func(w *world, s *pushStore) bool {
			return planted(w, s.owners, func(id int32) int32 { return id + 1000 })
		})},
		{what: "an instance", want: "simulated: instances", plant: store(func(w *world, s *pushStore) bool {
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
	} {
		if c.now() {
			t.Run(c.what, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// noticeable is a difference that is planted.
type noticeable struct {
	what, want string // is in what it is noticed by
	plant      func(*world) bool
	bug        string
	from       uint64 // the case in which it is, or one before
}

// now says whether it is looked for in this run: what is further on than the first cases is for the night.
func (c noticeable) now() bool { return c.from == 0 || depth.Night() }

// noticed wants it to be.
func (c noticeable) noticed(t *testing.T, p *onPostgres, d *drawn) {
	const most = 4096
	for seed := c.from; seed < c.from+most; seed++ {
		if c.bug != "" && hashOf(t, p, d, seed, c.bug) == hashOf(t, p, d, seed, "") {
			continue // it does not come to that
		}
		p.every, p.plant = 1, nil
		if c.plant != nil {
			p.plant = func() bool { return c.plant(p.w) }
		}
		err := shadowed(t, p, d, seed, c.bug)
		if err == nil {
			continue
		}
		if first, _, _ := strings.Cut(err.Error(), "\nafter:"); !strings.Contains(first, c.want) {
			t.Errorf("noticed by another difference: %v", err)
		}
		t.Logf("noticed in case %d", seed)
		return
	}
	t.Errorf("not noticed in %d cases", most)
}

// hashOf plays a world by itself.
func hashOf(t *testing.T, p *onPostgres, d *drawn, seed uint64, bug string) string {
	w := shadowWorld(t, d, p.design.name, seed, bug)
	w.play()
	return w.result.Hash
}
