package journal

import (
	"testing"
	"time"

	"pulley/engine/backend"
)

// TestLeasesEndFirst has owners of a shard whose lease is far shorter than those that they grant die in every state:
// whoever takes the shard hands a node run out again only when its holder knows that the lease is over (I11).
func TestLeasesEndFirst(t *testing.T) {
	const long = 4 * shortLease
	// view is when the holder of a lease ceases to believe in it.
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
		"prolonged": func(w *world, first *Backend) (backend.Task, time.Time) {
			w.lease = briefLease
			task := w.launch(first, alone)[0]
			w.lease = long
			sent := time.Now()
			kept, err := first.Extend(w.ctx, 0, []backend.Lease{task.Lease}, w.granted(0))
			if err != nil || !kept[0] {
				w.Fatalf("prolonged: %v, %v", kept, err)
			}
			return task, sent.Add(long)
		},
		"handed over": func(w *world, first *Backend) (backend.Task, time.Time) {
			task := w.launch(first, alone)[0]
			first.Close()
			next := w.open()
			if _, err := next.Claim(w.ctx, 0, w.granted(0)); err != nil || len(next.held()) != 1 {
				w.Fatalf("%d shards are taken over (%v)", len(next.held()), err)
			}
			freeze(next)
			return task, task.Expires
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
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

// TestGrantsWaitForTheShard has the prolonging of a shard fail where a grant is for longer than that: nothing is leased,
// and what was completed is completed all the same.
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
	if _, err := b.Extend(w.ctx, 0, []backend.Lease{task.Lease}, w.granted(0)); err == nil {
		t.Error("a lease was prolonged beyond that of its shard")
	}
	name(b.name)
	if got := w.claimed(b); b.wall(b.shards[0].until.Load()).Before(got[0].Expires) {
		t.Errorf("a node run is leased until %s, and its shard until %s", got[0].Expires, b.wall(b.shards[0].until.Load()))
	}
}
