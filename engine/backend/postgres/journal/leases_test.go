package journal

import (
	"testing"
	"time"

	"pulley/engine/backend"
)

// TestLeasesEndFirst checks, with owners that die in every state, that the next owner hands a node run out again only when its
// holder knows that the lease has expired (I11).
func TestLeasesEndFirst(t *testing.T) {
	const long = 4 * shortLease
	// view is when the holder stops relying on its lease.
	ways := map[string]func(w *world, first *Backend) (task backend.Task, view time.Time){
		"granted by a submission": func(w *world, first *Backend) (backend.Task, time.Time) {
			task := w.launch(first, alone)[0]
			return task, task.Expires
		},
		"granted by a completion": func(w *world, first *Backend) (backend.Task, time.Time) {
			task := w.complete(first, ran(w.launch(first, sequence)[0])).Tasks[0]
			return task, task.Expires
		},
		"granted by mail": func(w *world, first *Backend) (backend.Task, time.Time) {
			if _, err := first.Claim(w.ctx, 0, w.granted(0)); err != nil {
				w.Fatal(err)
			}
			other := w.open()
			if _, err := first.Submit(w.ctx, []backend.Submission{w.instance(alone, alone.Program(w))}, w.granted(0)); err != nil {
				w.Fatal(err)
			}
			task := w.claimed(other)[0]
			return task, task.Expires
		},
		"renewed": func(w *world, first *Backend) (backend.Task, time.Time) {
			w.lease = briefLease
			task := w.launchLeased(first, alone)[0]
			w.lease = long
			sent := time.Now()
			kept, err := first.Renew(w.ctx, 0, []backend.Lease{task.Lease}, w.granted(0))
			if err != nil || !kept[0] {
				w.Fatalf("renewed: %v, %v", kept, err)
			}
			return task, sent.Add(long)
		},
		"handed over": func(w *world, first *Backend) (backend.Task, time.Time) {
			task := w.launch(first, alone)[0]
			first.Close()
			next := w.open()
			if _, err := next.Claim(w.ctx, 0, w.granted(0)); err != nil || len(next.ownedShards()) != 1 {
				w.Fatalf("%d shards are taken over (%v)", len(next.ownedShards()), err)
			}
			freeze(next)
			return task, task.Expires
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.lease = long
			first := w.open()
			task, view := way(w, first)
			freeze(first)
			again := w.claimed(w.open())[0]
			if at := time.Now(); again.Lease.Key != task.Lease.Key || at.Before(view) {
				t.Errorf("I11: %+v came %s before the lease of %+v was over for its holder", again.Lease, view.Sub(at), task.Lease)
			}
		})
	}
}

// TestGrantsWaitForTheShard checks that a grant beyond the shard's lease leases nothing if the shard cannot be renewed, while
// completions are applied.
func TestGrantsWaitForTheShard(t *testing.T) {
	w := newWorld(t, 1)
	b := w.owner()
	task := w.launch(b, sequence)[0]
	name := func(name string) {
		if _, err := b.store.Pool.Exec(w.ctx, "UPDATE shards SET owner = $1", name); err != nil {
			t.Fatal(err)
		}
	}
	w.lease = 2 * w.cfg.Lease
	name("another")
	if out := w.complete(b, ran(task)); out.Outcomes[0].Answer != backend.Applied || len(out.Tasks) != 0 || !out.More {
		t.Errorf("answered %+v; want it applied, and nothing leased yet", out)
	}
	if _, err := b.Renew(w.ctx, 0, []backend.Lease{task.Lease}, w.granted(0)); err == nil {
		t.Error("a lease was renewed beyond that of its shard")
	}
	name(b.owners.Name)
	if got := w.claimed(b); b.wall(b.shards[0].until.Load()).Before(got[0].Expires) {
		t.Errorf("a node run is leased until %s, and its shard until %s", got[0].Expires, b.wall(b.shards[0].until.Load()))
	}
}

// TestDeadOwnersShardRestsLittleLonger checks that a shard's lease is at most an eighth longer than the leases on its node runs,
// and is renewed often enough for leases granted between two renewals.
func TestDeadOwnersShardRestsLittleLonger(t *testing.T) {
	w := newWorld(t, 1)
	w.lease = 4 * shortLease
	b := w.open()
	w.launch(b, alone)
	if rest := w.number(b, "SELECT (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint FROM shards"); int64(rest) > (w.lease * 9 / 8).Microseconds() {
		t.Errorf("the shard of an owner that dies now rests for %d µs; its leases on node runs are over in %v", rest, w.lease)
	}
	if spare := time.Duration(b.span.Load()) - w.lease; b.tick() > spare*3/4 {
		t.Errorf("the shard is renewed every %v; grants fit for %v after each", b.tick(), spare)
	}
}

func TestOverdueComesFirst(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	lost := w.launch(b, alone)[0].Lease
	var subs []backend.Submission
	for range 3 {
		subs = append(subs, w.instance(alone, alone.Program(t)))
	}
	if _, err := b.Submit(w.ctx, subs, w.granted(0)); err != nil {
		t.Fatal(err)
	}
	sh := b.shards[0]
	if err := sh.lock(w.ctx); err != nil {
		t.Fatal(err)
	}
	sh.promote(sh.leased[0].Due) // the leases have expired
	sh.unlock()
	out, err := b.Claim(w.ctx, 0, w.granted(1))
	if err != nil || len(out.Tasks) != 1 || out.Tasks[0].Lease.Key != lost.Key {
		t.Errorf("behind three that were queued before its lease ended: %+v, %v; want %+v", out.Tasks, err, lost)
	}
	if out, err = b.Claim(w.ctx, 0, w.granted(10)); err != nil || len(out.Tasks) != 3 {
		t.Errorf("then %+v come, %v; want three", out.Tasks, err)
	}
}
