package journal

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal/internal/ownership"
)

// late takes a new epoch of a backend's only shard, like a late abandoned call of the backend.
func (w *world) late(b *Backend) {
	w.Helper()
	if _, mine, err := b.shards[0].acquire(w.ctx, b.span.Load(), b.shards[0].epoch.Load()); err != nil || !mine {
		w.Fatalf("a late call: mine %v, %v", mine, err)
	}
}

// TestLateEpoch checks that leases on node runs hold after a late acquisition of the backend itself (I11).
func TestLateEpoch(t *testing.T) {
	for name, next := range map[string]func(w *world, b *Backend, held []backend.Task){
		"append": func(w *world, b *Backend, held []backend.Task) {
			w.late(b)
			if _, err := b.Submit(w.ctx, []backend.Submission{w.instance(alone, alone.Program(w))}, granted(0)); err != nil {
				w.Errorf("a submission: %v", err)
			}
		},
		"renewal": func(w *world, b *Backend, held []backend.Task) {
			w.late(b)
			b.shards[0].until.Store(0) // so that the next call renews the lease, and finds another epoch
		},
		"end of a load": func(w *world, b *Backend, held []backend.Task) {
			if err := w.holding(b, func(sh *shardState) error { sh.abandonLoad(); return nil }); err != nil { // what came is in memory
				w.Error(err)
			}
		},
		"release": func(w *world, b *Backend, held []backend.Task) {
			w.late(b)
			if err := w.holding(b, func(sh *shardState) error { return sh.release(w.ctx) }); err != nil {
				w.Errorf("giving back: %v", err)
			}
		},
		"load": func(w *world, b *Backend, held []backend.Task) {
			err := w.holding(b, func(sh *shardState) error {
				if err := sh.release(w.ctx); err != nil {
					return err
				}
				epoch, _, err := sh.acquire(w.ctx, b.span.Load(), sh.epoch.Load())
				if err != nil {
					return err
				}
				sh.epoch.Store(epoch)
				w.late(b)
				defer sh.forget()
				return sh.load(w.ctx, epoch, false)
			})
			if !errors.Is(err, errLost) {
				w.Errorf("loading in an epoch that is over: %v, want %v", err, errLost)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			b := w.open()
			held := w.launch(b, fanned)
			next(w, b, held)
			holders := map[backend.Key]bool{}
			for _, h := range held {
				holders[h.Lease.Key] = true
			}
			var own []backend.Task
			out, err := b.Claim(w.ctx, 0, granted(10))
			for _, task := range out.Tasks {
				if holders[task.Lease.Key] {
					t.Errorf("I11: %v was handed out, and somebody holds it", task.Lease)
				} else {
					own = append(own, task)
				}
			}
			if err != nil {
				t.Error(err)
			}
			for _, task := range append(own, held...) {
				for _, o := range w.complete(b, ran(task)).Outcomes {
					if o.Answer != backend.Applied {
						t.Errorf("I3: %v, offered by who holds it: %s; want it applied", task.Lease, o.Answer)
					}
				}
			}
			if !t.Failed() {
				w.finish(b)
			}
		})
	}
}

func (w *world) holding(b *Backend, call func(*shardState) error) error {
	w.Helper()
	sh := b.shards[0]
	if err := sh.lock(w.ctx); err != nil {
		return err
	}
	defer sh.unlock()
	return call(sh)
}

// TestLateEpochAfterAnother has another backend own the shard for a moment before the late acquisition. What this backend knew
// must not count for the other's deliveries, nor be handed over (I11).
func TestLateEpochAfterAnother(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	if held := w.launch(b, fanned); len(held) == 0 {
		t.Fatal("nothing is leased")
	}
	freeze(b)
	other := *b.owners
	other.Name = "another"
	err := w.holding(b, func(sh *shardState) error {
		known := sh.epoch.Load()
		for _, r := range []*ownership.Registry{&other, b.owners} {
			if _, err := b.store.Pool.Exec(w.ctx, "UPDATE shards SET expires_at = clock_timestamp()"); err != nil {
				return err
			}
			switch _, mine, err := r.Acquire(w.ctx, 0, known, time.Minute); {
			case err != nil:
				return err
			case mine:
				return fmt.Errorf("%s takes the shard as if nobody else had had it", r.Name)
			}
		}
		return sh.release(w.ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if leases, counted := w.number(b, "SELECT count(*) FROM leases"), w.number(b, "SELECT count(*) FROM shards WHERE counted"); leases+counted != 0 {
		t.Errorf("%d leases are handed over, and of %d shards all deliveries are said to be known; want none", leases, counted)
	}
}

// TestLateRelease has a release whose connection was lost arrive late, after this backend has acquired the shard anew. It must not
// free the shard, nor hide leases from a later release (I11).
func TestLateRelease(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	held := w.launch(b, fanned)
	freeze(b)
	var late func() (bool, error)
	release := func(sh *shardState) error {
		epoch, leases, counts := sh.epoch.Load(), sh.leases(), sh.counts
		late = func() (bool, error) { return b.owners.Release(w.ctx, 0, epoch, epoch, leases, counts, b.now()) }
		return sh.release(w.ctx)
	}
	if err := w.holding(b, release); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Claim(w.ctx, 0, granted(10)); err != nil || len(out.Tasks) > 0 {
		t.Fatalf("after a release: %+v, %v", out, err)
	}
	if given, err := late(); err != nil || given {
		t.Fatalf("a late release freed the shard that was acquired since: %v, %v", given, err)
	}
	if err := w.holding(b, func(sh *shardState) error { return sh.release(w.ctx) }); err != nil {
		t.Fatal(err)
	}
	if out, err := b.Claim(w.ctx, 0, granted(10)); err != nil || len(out.Tasks) > 0 {
		t.Fatalf("I11: %d node runs were handed out that others hold, %v", len(out.Tasks), err)
	}
	for _, task := range held {
		w.complete(b, ran(task))
	}
	w.finish(b)
}
