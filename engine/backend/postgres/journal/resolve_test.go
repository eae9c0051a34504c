package journal

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pulley/engine/backend"
)

// TestResolveUnderAnotherOwner resolves an append after another engine took the shard. Its traces prove that it was applied;
// their absence proves the opposite only if they could not have been removed (D7).
func TestResolveUnderAnotherOwner(t *testing.T) {
	for _, c := range []struct {
		name     string
		sent     bool // the append was applied
		ended    bool // the next owner ends the instance, and removes its events
		open     bool // the append first has an event of another instance, which continues
		happened bool
		err      error
	}{
		{name: "there", sent: true, happened: true},
		{name: "dropped", sent: true, ended: true, err: errOwnerChanged},
		{name: "dropped, but for another instance's", sent: true, ended: true, open: true, happened: true},
		{name: "never", err: errLost},
		{name: "never, and another instance continues", ended: true, open: true, err: errLost},
		{name: "never, and another's events are dropped", ended: true, err: errOwnerChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.cfg.Lease = time.Minute
			first := w.open()
			var both []backend.Completion
			if c.open {
				both = append(both, ran(w.launch(first, sequence)[0]))
			}
			both = append(both, ran(w.launch(first, sequence)[0]))
			ends := both[len(both)-1].Lease.Key.Instance
			sh := first.shards[0]
			if err := sh.lock(w.ctx); err != nil {
				t.Fatal(err)
			}
			x := sh.begin()
			for i := range both {
				if err := x.advance(sh.heldRun(both[i].Lease), &both[i]); err != nil {
					t.Fatal(err)
				}
			}
			if c.sent {
				if _, err := sh.send(w.ctx, x); err != nil {
					t.Fatal(err)
				}
			}
			sh.unlock()
			freeze(first)
			second := w.open()
			if _, err := second.store.Pool.Exec(w.ctx, "UPDATE shards SET expires_at = clock_timestamp()"); err != nil {
				t.Fatal(err)
			}
			tasks := w.claimed(second)
			if c.ended {
				tasks = slices.DeleteFunc(tasks, func(t backend.Task) bool { return t.Lease.Key.Instance != ends })
				for len(tasks) > 0 {
					tasks = w.complete(second, ran(tasks[0])).Tasks
				}
				w.clean(second)
			}
			happened, _, err := sh.resolveAppend(w.ctx, x)
			if happened != c.happened || !errors.Is(err, c.err) {
				t.Errorf("settled: %t, %v; want %t, %v", happened, err, c.happened, c.err)
			}
		})
	}
}

// TestResolveCreationsUnderAnotherOwner resolves submissions one of which the next owner stored, too. That must prove nothing,
// since a transaction stores all or none (I8).
func TestResolveCreationsUnderAnotherOwner(t *testing.T) {
	for name, sent := range map[string]bool{"stored": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.cfg.Lease = time.Minute
			first := w.open()
			w.launch(first, sequence) // owns the shard
			p := sequence.Program(t)
			both := []backend.Submission{w.instance(sequence, p), w.instance(sequence, p)}
			sh := first.shards[0]
			if err := sh.lock(w.ctx); err != nil {
				t.Fatal(err)
			}
			x := sh.begin()
			for i := range both {
				n, err := first.newcomer(w.ctx, &both[i])
				if err == nil {
					err = x.createInstance(&n)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if sent {
				if _, err := sh.send(w.ctx, x); err != nil {
					t.Fatal(err)
				}
			}
			sh.unlock()
			freeze(first)
			second := w.open()
			if _, err := second.store.Pool.Exec(w.ctx, "UPDATE shards SET expires_at = clock_timestamp()"); err != nil {
				t.Fatal(err)
			}
			w.claimed(second)
			if _, err := second.Submit(w.ctx, both[:1], w.granted(9)); err != nil {
				t.Fatal(err)
			}
			happened, out, err := sh.resolveAppend(w.ctx, x)
			if want := map[bool]error{false: errLost}[sent]; happened != sent || !errors.Is(err, want) {
				t.Errorf("settled: %t, %v; want %t, %v", happened, err, sent, want)
			}
			if sent && len(out.created) != 2 {
				t.Errorf("%d of two were stored", len(out.created))
			}
		})
	}
}
