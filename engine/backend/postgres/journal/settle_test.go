package journal

import (
	"errors"
	"testing"
	"time"
)

// TestSettleUnderAnotherOwner settles an append whose answer came too late: another owns the shard by then. What it left
// says that it took place; that nothing is there says so only where it could not have been dropped since (D7).
func TestSettleUnderAnotherOwner(t *testing.T) {
	for _, c := range []struct {
		name     string
		sent     bool // the append takes place
		ended    bool // the next owner ends the instance, and drops its events
		happened bool
		err      error
	}{
		{name: "there", sent: true, happened: true},
		{name: "dropped", sent: true, ended: true, err: errGone},
		{name: "never", err: errLost},
		{name: "never, and another's events are dropped", ended: true, err: errGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.cfg.Lease = time.Minute
			first := w.open()
			done := ran(w.launch(first, sequence)[0])
			sh := first.shards[0]
			if err := sh.lock(w.ctx); err != nil {
				t.Fatal(err)
			}
			x := sh.begin()
			if err := x.advance(sh.held(done.Lease), &done); err != nil {
				t.Fatal(err)
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
				for len(tasks) > 0 {
					tasks = w.complete(second, ran(tasks[0])).Tasks
				}
				w.clean(second)
			}
			happened, _, err := sh.settle(w.ctx, x)
			if happened != c.happened || !errors.Is(err, c.err) {
				t.Errorf("settled: %t, %v; want %t, %v", happened, err, c.happened, c.err)
			}
		})
	}
}
