package journal

import (
	"strings"
	"testing"
)

// TestProblemsAreTold takes the table of shards away from an owner, so that it can renew no lease on one: the observer hears of it.
func TestProblemsAreTold(t *testing.T) {
	w := newWorld(t, 1)
	told := make(chan error, 1000) // what is told before the test listens counts, too: an owner that has lost its shards renews none
	w.cfg.Store.Problem = func(err error) {
		select {
		case told <- err:
		default: // that is more than enough
		}
	}
	b := w.open()
	w.launch(b, alone)
	for _, sql := range []string{"ALTER TABLE shards RENAME TO away", "ALTER TABLE away RENAME TO shards"} {
		if _, err := b.store.Pool.Exec(w.ctx, sql); err != nil {
			t.Fatal(err)
		}
		for heard := strings.HasSuffix(sql, "shards"); !heard; {
			select {
			case err := <-told:
				heard = strings.HasPrefix(err.Error(), "renewing the leases on shards: postgres: ")
			case <-w.ctx.Done():
				t.Fatal("nobody is told that the lease on a shard is not renewed")
			}
		}
	}
}
