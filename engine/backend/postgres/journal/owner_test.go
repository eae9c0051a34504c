package journal

import (
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pgstore"
)

var (
	sequence, joining = designtest.Sequence, designtest.Joining
	alone, fanned     = designtest.Alone, designtest.Fanned
	failing           = designtest.Failing

	flaky = backendtest.Workflow{Name: "flaky", Input: `{}`, Want: `3`, Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=2) [retry: 2, backoff: 1ms]
`}
	sleeping = backendtest.Workflow{Name: "napping", Input: `{"n": 2}`, Want: `4`, Source: `
fn main(input: [n], output: [x]):
    sleep 0.01
    x = @double(value=n)
`}
)

func (w *world) claimed(b *Backend) []backend.Task {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := b.Claim(w.ctx, 0, w.granted(1000))
		if err != nil {
			w.Fatal(err)
		}
		if len(out.Tasks) > 0 {
			return out.Tasks
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.Fatalf("nothing can be claimed: %v", w.ctx.Err())
		}
	}
}

// TestOwnerStandsStill pauses the owner of a shard until another has taken over. Then its appends must be refused, even if its
// clock says that it is still the owner, and nothing is applied twice (I3, I11).
func TestOwnerStandsStill(t *testing.T) {
	for _, believes := range []bool{false, true} {
		w := newWorld(t, 1)
		w.lease = briefLease
		first, second := w.open(), w.open()
		task := w.launchLeased(first, sequence)[0]
		freeze(first)
		again := w.claimed(second)[0]
		if again.Lease.Key != task.Lease.Key || again.Lease.Token <= task.Lease.Token {
			t.Fatalf("%+v came after %+v; want it with a greater token", again.Lease, task.Lease)
		}
		if believes {
			first.shards[0].until.Store(first.now() + int64(time.Hour))
		}
		events := w.number(second, "SELECT count(*) FROM events")
		wrong := ran(task)
		wrong.Result = []byte("666")
		if out := w.complete(first, wrong); out.Outcomes[0].Answer != backend.Stale || len(out.Tasks) > 0 {
			t.Errorf("the owner before is answered %+v", out)
		}
		if n := w.number(second, "SELECT count(*) FROM events"); n != events {
			t.Errorf("the owner before has appended %d events", n-events)
		}
		if first.shards[0].epoch.Load() != 0 {
			t.Error("the owner before still believes that it is the owner")
		}
		next := w.complete(second, ran(again)).Tasks
		if len(next) != 1 {
			t.Fatalf("%d tasks follow", len(next))
		}
		if out := w.complete(first, ran(next[0])); out.Outcomes[0].Answer != backend.Applied {
			t.Errorf("a completion that comes by way of another than the owner is answered %+v", out.Outcomes)
		}
		w.finish(second)
	}
}

func TestOwnerDies(t *testing.T) {
	w := newWorld(t, 2)
	w.lease = briefLease
	first := w.open()
	for range 5 {
		for _, wf := range []backendtest.Workflow{sequence, joining, alone, fanned, failing, flaky, sleeping} {
			tasks := w.launch(first, wf)
			if len(tasks) == 0 {
				continue
			}
			shard := backend.ShardOf(tasks[0].Lease.Key.Instance, 2)
			if _, err := first.Complete(w.ctx, shard, []backend.Completion{ran(tasks[0])}, w.granted(5)); err != nil {
				t.Fatal(err)
			}
		}
	}
	kill(first)
	w.finish(w.open())
}

// TestOwnerHandsOver checks that a closed owner's shard is free at once, and that its leases hold, also if the owner had
// suspended the shard.
func TestOwnerHandsOver(t *testing.T) {
	t.Run("owned", func(t *testing.T) { handOver(t, func(*shardState) {}) })
	t.Run("suspended", func(t *testing.T) { handOver(t, (*shardState).suspend) })
}

func handOver(t *testing.T, before func(*shardState)) {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	first := w.open()
	tasks := w.launch(first, fanned)
	if err := first.shards[0].lock(w.ctx); err != nil {
		t.Fatal(err)
	}
	before(first.shards[0])
	first.shards[0].unlock()
	first.Close()
	second := w.open()
	if out := w.complete(second, ran(tasks[0])); out.Outcomes[0].Answer != backend.Applied {
		t.Errorf("answered %+v", out.Outcomes)
	}
	if out, err := second.Claim(w.ctx, 0, granted(10)); err != nil || len(out.Tasks) > 0 {
		t.Errorf("%d node runs were handed out that others hold (%v)", len(out.Tasks), err)
	}
	if out := w.complete(second, ran(tasks[2]), ran(tasks[1])); len(out.Ended) != 1 {
		t.Errorf("%+v; want the end", out)
	}
	w.finish(second)
}

// TestClosedIsForgotten closes an engine while its note of presence is on the way to the server. The late note must not bring the
// engine back, since others would leave shards to it for a lease.
func TestClosedIsForgotten(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	owner := w.open()
	task := w.launch(owner, alone)[0] // so that the other engine owns no shard to release
	late := newLateNote()
	proxy, err := pgwire.Listen(w.cfg.Store.DSN, late.judge)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	w.cfg.Store.DSN = proxy.DSN()
	closing := w.open()
	if _, err := closing.Claim(w.ctx, 0, granted(0)); err != nil {
		t.Fatal(err)
	}
	late.armed.Store(true)
	w.eventually("its note is on the way", func() bool {
		pgstore.Signal(closing.peersChanged)
		return late.held.Load() > 0
	})
	closed := make(chan struct{})
	go func() {
		closing.Close()
		close(closed)
	}()
	for looks := 0; looks < 100; looks++ { // longer than a Close that waits for nothing
		select {
		case <-closed:
			looks = 100
		default:
			w.number(owner, "SELECT 1")
		}
	}
	late.armed.Store(false)
	close(late.release)
	<-closed
	w.eventually("its sessions are gone", func() bool {
		return w.number(owner, "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY ($1)", late.pids()) == 0
	})
	if n := w.number(owner, "SELECT count(*) FROM owners WHERE name = $1", closing.owners.Name); n != 0 {
		t.Error("the closed engine is still taken to be there")
	}
	w.complete(owner, ran(task))
	w.finish(owner)
}

// TestShardsAreSpread checks that a second engine soon owns half of the shards, and that what the first had leased is completed.
func TestShardsAreSpread(t *testing.T) {
	w := newWorld(t, 4)
	w.cfg.Lease = time.Minute // no lease expires
	first, second := w.open(), w.open()
	var held []backend.Task
	for range 12 {
		held = append(held, w.launch(first, joining)...)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(first.ownedShards()) != 2 || len(second.ownedShards()) != 2 {
		for _, b := range []*Backend{first, second} {
			for shard := range 4 {
				if _, err := b.Claim(w.ctx, shard, granted(0)); err != nil {
					t.Fatal(err)
				}
			}
		}
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			t.Fatalf("the first has %d shards and the second %d", len(first.ownedShards()), len(second.ownedShards()))
		}
	}
	stranger := w.open() // owns none, and stores instances in any shard
	for shard := range 4 {
		if first.IsLocal(shard) == second.IsLocal(shard) || !stranger.IsLocal(shard) {
			t.Errorf("shard %d is near the first: %v, the second: %v, one without any: %v", shard, first.IsLocal(shard), second.IsLocal(shard), stranger.IsLocal(shard))
		}
	}
	for _, task := range held {
		shard := backend.ShardOf(task.Lease.Key.Instance, 4)
		out, err := first.Complete(w.ctx, shard, []backend.Completion{ran(task)}, granted(0))
		if err != nil || out.Outcomes[0].Answer != backend.Applied {
			t.Fatalf("answered %+v, %v", out.Outcomes, err)
		}
	}
	if n := w.number(first, "SELECT sum(epoch) FROM shards"); n != 6 {
		t.Errorf("four shards changed hands %d times until each had two; want 6", n)
	}
	if _, err := backendtest.Drive(w.ctx, first, w.subs, backendtest.DriveConfig{Workers: 2, Peers: []backend.Backend{second}}); err != nil {
		t.Fatal(err)
	}
	w.finish(second)
}

// TestSubmittedElsewhere checks that owners adopt instances that another engine stored, in an owned shard and in a free one.
func TestSubmittedElsewhere(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.Lease = time.Hour
	owner, other := w.open(), w.open()
	store := func(wf backendtest.Workflow) backend.Answer {
		out, err := other.Submit(w.ctx, []backend.Submission{w.instance(wf, wf.Program(t))}, granted(0))
		if err != nil {
			t.Fatal(err)
		}
		return out.Outcomes[0].Answer
	}
	ends := backendtest.Workflow{Name: "ends", Input: `{"n": 1}`, Want: `[2]`, Source: `
fn main(input: [n], output: [x]):
    x = []
    x = x + [n + 1]
`}
	for _, wf := range []backendtest.Workflow{alone, ends, sequence} {
		if a := store(wf); a != backend.Applied {
			t.Fatalf("answered %s", a)
		}
	}
	if n := len(other.ownedShards()); n != 0 {
		t.Errorf("who wants no tasks has taken %d shards", n)
	}
	if got := w.claimed(owner); len(got) != 2 {
		t.Errorf("%d tasks; want two", len(got))
	} else {
		w.complete(owner, ran(got[0]), ran(got[1]))
	}
	store(alone)
	store(ends)
	if got := w.claimed(owner); len(got) != 1 {
		t.Errorf("%d tasks; want that of the instance that was stored beside the owner", len(got))
	} else {
		w.complete(owner, ran(got[0]))
	}
	if n := w.number(owner, "SELECT count(*) FROM instances WHERE pending"); n != 0 {
		t.Errorf("%d instances are still marked as pending", n)
	}
}
