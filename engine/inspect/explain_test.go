package inspect_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/inspect"
	"pulley/engine/ir"
	"pulley/engine/limit"
	"pulley/engine/plan"
)

var (
	now  = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	then = now.Add(-90 * time.Second)
	soon = now.Add(30 * time.Second)
)

const text = `fn main(input: [xs], output: [all]):
    all = spread xs:x -> one(x=x)
    return all
fn one(input: [x], output: [y]):
    sleep 5
    y = @fetch(x=x) [retry: 2, backoff: 1 h]
    return y
`

func program(t testing.TB) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("p.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func node(t testing.TB, p *plan.Program, name string) graph.NodeID {
	t.Helper()
	for _, n := range p.Graph().Nodes {
		if n.Name == name {
			return n.ID
		}
	}
	t.Fatalf("no node %s", name)
	return 0
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := program(t)
	fetch, sleep, all := node(t, p, "fetch"), node(t, p, "sleep"), node(t, p, "spread_all")
	id := uuid.MustParse("0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01")
	running := func(change func(*backend.Snapshot)) backend.Snapshot {
		s := backend.Snapshot{Instance: backend.Instance{ID: id, Status: backend.Running}, Program: p, Now: now, Submitted: then}
		change(&s)
		return s
	}
	ended := func(status backend.Status, f *plan.Failure) backend.Snapshot {
		return backend.Snapshot{Instance: backend.Instance{ID: id, Status: status, Failure: f}, Program: p, Now: now, Submitted: then, Ended: now}
	}
	run := func(n graph.NodeID, path graph.Path, r backend.OpenRun) backend.OpenRun {
		r.Run, r.Attempt = graph.Run{Node: n, Path: path}, max(r.Attempt, 1)
		return r
	}
	owned := func(o backend.ShardOwner) backend.Snapshot {
		return running(func(s *backend.Snapshot) { s.Owner = &o })
	}
	leased := run(fetch, "0", backend.OpenRun{Leased: true, Engine: "e1", Due: soon, Deliveries: 1})
	fetches := backend.StoredLimit{
		Limit: limit.Limit{Name: "fetches", Actions: []string{"other", "fetch"}, Concurrency: 7, Rate: limit.Rate{Starts: 100, Per: time.Second}},
		State: limit.State{Engines: []limit.Share{{Engine: "e1", Permits: 5, Waiting: 90, Until: soon}, {Engine: "e2", Permits: 2, Waiting: 3, Until: soon}, {Engine: "killed", Permits: 4, Until: then}}},
	}
	for _, c := range []struct {
		name   string
		s      backend.Snapshot
		reason inspect.Reason
		want   string
	}{
		{"lease", running(func(s *backend.Snapshot) { s.Runs = []backend.OpenRun{leased} }), inspect.Lease,
			"It waits for @fetch[0], which engine e1 has leased until 2026-11-27 12:00:30 UTC (attempt 1 of 3)."},
		{"lease of nobody known, delivered twice", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{run(fetch, "0", backend.OpenRun{Leased: true, Due: soon, Deliveries: 2})}
		}), inspect.Lease,
			"It waits for @fetch[0], which an engine has leased until 2026-11-27 12:00:30 UTC (attempt 1 of 3, delivery 2: its engine was lost before)."},
		{"worker", running(func(s *backend.Snapshot) { s.Runs = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Due: then})} }), inspect.Worker,
			"It waits for an engine to take @fetch[1], which is ready since 2026-11-27 11:58:30 UTC (attempt 1 of 3)."},
		{"a lease that ends now", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Leased: true, Engine: "e1", Due: now, Deliveries: 1})}
		}), inspect.LostEngine,
			"It waits for an engine to take over @fetch[1]: the lease of engine e1 expired at 2026-11-27 12:00:00 UTC, so that engine has exited or is cut off (attempt 1 of 3)."},
		{"an action that no engine has", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Due: soon})}
		}), inspect.Elsewhere,
			"It waits for an engine that has action @fetch, to run fetch[1]: the engines that took it do not have it, and it is offered again at 2026-11-27 12:00:30 UTC (attempt 1 of 3)."},
		{"a limit, returned by an engine that holds enough", running(func(s *backend.Snapshot) {
			s.Runs, s.Limits = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Due: soon})}, []backend.StoredLimit{fetches}
		}), inspect.Limit,
			"It waits for limit fetches to start @fetch[1]: engines run 7 of 7 attempts, they start 100/s, 93 more are ready (attempt 1 of 3)."},
		{"a limit, leased", running(func(s *backend.Snapshot) {
			s.Runs, s.Limits = []backend.OpenRun{leased}, []backend.StoredLimit{fetches}
		}), inspect.Limit,
			"It waits for @fetch[0], which engine e1 has leased, and runs or holds ready until limit fetches lets it start: engines run 7 of 7 attempts, they start 100/s, 93 more are ready (attempt 1 of 3)."},
		{"a limit that has room", running(func(s *backend.Snapshot) {
			room := fetches
			room.State.Engines = nil
			s.Runs, s.Limits = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Due: then})}, []backend.StoredLimit{room}
		}), inspect.Worker,
			"It waits for an engine to take @fetch[1], which is ready since 2026-11-27 11:58:30 UTC (attempt 1 of 3)."},
		{"retry", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{run(fetch, "1", backend.OpenRun{Attempt: 2, Due: soon})}
		}), inspect.Retry,
			"It waits until 2026-11-27 12:00:30 UTC to retry @fetch[1]: attempt 1 failed, and attempt 2 of 3 follows; no design keeps the error of an attempt that is retried."},
		{"sleep", running(func(s *backend.Snapshot) { s.Runs = []backend.OpenRun{run(sleep, "1", backend.OpenRun{Due: soon})} }), inspect.Sleep,
			"It sleeps at sleep[1] until 2026-11-27 12:00:30 UTC."},
		{"a sleep that is due", running(func(s *backend.Snapshot) { s.Runs = []backend.OpenRun{run(sleep, "1", backend.OpenRun{Due: then})} }), inspect.Worker,
			"It waits for an engine to take node sleep[1], which is ready since 2026-11-27 11:58:30 UTC (attempt 1)."},
		{"a barrier with 3 of 7", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{
				run(sleep, "3", backend.OpenRun{Due: soon.Add(time.Hour)}), run(sleep, "4", backend.OpenRun{Due: soon}), leased,
				run(fetch, "6", backend.OpenRun{Due: then}),
			}
			s.Barriers = []backend.OpenBarrier{{Run: graph.Run{Node: all}, Completed: 3, Required: 7}}
			s.Cut = true
		}), inspect.Lease,
			"It waits for @fetch[0], which engine e1 has leased until 2026-11-27 12:00:30 UTC (attempt 1 of 3); barrier spread_all has 3 of 7 arrivals; 1 more ready; 2 more asleep; there is more than was read."},
		{"the sleep that ends first", running(func(s *backend.Snapshot) {
			s.Runs = []backend.OpenRun{run(sleep, "3", backend.OpenRun{Due: soon.Add(time.Hour)}), run(sleep, "4", backend.OpenRun{Due: soon})}
		}), inspect.Sleep,
			"It sleeps at sleep[4] until 2026-11-27 12:00:30 UTC; 1 more asleep."},
		{"a barrier alone", running(func(s *backend.Snapshot) {
			s.Barriers = []backend.OpenBarrier{{Run: graph.Run{Node: all}, Completed: 3}}
		}), inspect.Barrier,
			"Nothing of it is under way, and barrier spread_all has 3 arrivals, of a number not known yet."},
		{"nothing", running(func(*backend.Snapshot) {}), inspect.Nothing,
			"Nothing of it is under way since 2026-11-27 11:58:30 UTC: no engine has planned its next step, or its store is corrupt."},
		{"an unreadable workflow", running(func(s *backend.Snapshot) { s.Program, s.Runs = nil, []backend.OpenRun{leased} }), inspect.Lease,
			"It waits for node 4[0], which engine e1 has leased until 2026-11-27 12:00:30 UTC (attempt 1)."},
		{"an unreadable workflow, not due", running(func(s *backend.Snapshot) {
			s.Program, s.Runs = nil, []backend.OpenRun{run(fetch, "0", backend.OpenRun{Due: soon})}
		}), inspect.Sleep,
			"It sleeps at node 4[0] until 2026-11-27 12:00:30 UTC."},
		{"completed", ended(backend.Completed, nil), inspect.Ended,
			"It waits for nothing: it completed at 2026-11-27 12:00:00 UTC, after 1m30s."},
		{"canceled", ended(backend.Canceled, &plan.Failure{Type: "Canceled", Message: "enough"}), inspect.Ended,
			"It waits for nothing: it was canceled at 2026-11-27 12:00:00 UTC, after 1m30s, with Canceled: enough."},
		{"an action that nobody has", ended(backend.Failed, &plan.Failure{Type: "UnknownAction", Message: "unknown action @fetch", Action: "fetch"}), inspect.Ended,
			"It waits for nothing: it failed at 2026-11-27 12:00:00 UTC, after 1m30s, with UnknownAction: unknown action @fetch (@fetch); the engine that got it does not have this action."},
		{"a poisoned attempt", ended(backend.Failed, &plan.Failure{Type: "WorkerDied", Message: "5 deliveries", Action: "fetch"}), inspect.Ended,
			"It waits for nothing: it failed at 2026-11-27 12:00:00 UTC, after 1m30s, with WorkerDied: 5 deliveries (@fetch); each engine or worker that got the attempt died, or was cut off."},
		{"unknown", backend.Snapshot{Instance: backend.Instance{ID: id}}, inspect.Unknown, "There is no such instance."},
		{"pending, no owner", owned(backend.ShardOwner{Expires: then}), inspect.Adoption,
			"It waits since 2026-11-27 11:58:30 UTC for an engine to adopt it: nobody owns its shard."},
		{"pending, owned", owned(backend.ShardOwner{Name: "e1", Expires: soon, Answered: true}), inspect.Adoption,
			"It waits since 2026-11-27 11:58:30 UTC for an engine to adopt it; its shard is owned by engine e1."},
		{"pending, owner exited", owned(backend.ShardOwner{Name: "e1", Expires: then}), inspect.Adoption,
			"It waits since 2026-11-27 11:58:30 UTC for an engine to adopt it: nobody owns its shard."},
		{"the owner has exited", owned(backend.ShardOwner{Name: "e1", Expires: then, Adopted: true}), inspect.Owner,
			"It waits for an engine to take its shard: the lease of engine e1, which owned it, expired at 2026-11-27 11:58:30 UTC, so that engine has exited or is cut off."},
		{"nobody owns the shard", owned(backend.ShardOwner{Expires: then, Adopted: true}), inspect.Owner,
			"It waits for an engine to take its shard, which nobody owns."},
		{"the owner is silent", owned(backend.ShardOwner{Name: "e1", Expires: soon, Adopted: true, Silence: "no answer"}), inspect.Owner,
			"It is in the memory of engine e1, which owns its shard until 2026-11-27 12:00:30 UTC and does not tell: no answer."},
		{"evicted", owned(backend.ShardOwner{Name: "e1", Expires: soon, Adopted: true, Answered: true, EvictedUntil: soon}), inspect.Evicted,
			"It waits until 2026-11-27 12:00:30 UTC, when the first of its node runs is due; engine e1 has evicted it from memory until then."},
		{"broken", owned(backend.ShardOwner{Name: "e1", Expires: soon, Adopted: true, Answered: true, Broken: "event 7: missing"}), inspect.Broken,
			"It waits for nothing: what is stored of it cannot be applied, and its owner has set it aside, so cancel it: event 7: missing."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := inspect.Explain(c.s)
			if got.Sentence != c.want {
				t.Errorf("got  %s\nwant %s", got.Sentence, c.want)
			}
			if got.Waits[0].Reason != c.reason || got.ID != id || got.Status != c.s.Status || got.Cut != c.s.Cut {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0s", 1250 * time.Millisecond: "1.2s", 59 * time.Second: "59.0s", time.Minute: "1m0s", 61 * time.Minute: "1h1m",
		47*time.Hour + 59*time.Minute: "47h59m", 49 * time.Hour: "2d1h",
	} {
		if got := inspect.Pause(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}
