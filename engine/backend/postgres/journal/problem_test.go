package journal

import (
	"strings"
	"testing"
)

// refuseUpdates makes only changes of shards fail: an owner that cannot read its shards would lose them, and have none to renew.
var refuseUpdates = []string{
	"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'shards are not to be changed'; END $$",
	"CREATE TRIGGER refuse BEFORE UPDATE ON shards FOR EACH ROW EXECUTE FUNCTION refuse()",
}

func TestProblemsAreReported(t *testing.T) {
	w := newWorld(t, 1)
	told := make(chan error, 1000)
	w.cfg.Store.Problem = func(err error) {
		select {
		case told <- err:
		default: // enough
		}
	}
	b := w.open()
	w.launch(b, alone)
	defer func() {
		if _, err := b.store.Pool.Exec(w.ctx, "DROP FUNCTION IF EXISTS refuse() CASCADE"); err != nil {
			t.Error(err)
		}
	}()
	for _, sql := range refuseUpdates {
		if _, err := b.store.Pool.Exec(w.ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	for {
		select {
		case err := <-told:
			if strings.HasPrefix(err.Error(), "renewing the leases on shards: postgres: ") {
				return
			}
		case <-w.ctx.Done():
			t.Fatal("nobody is told that the lease on a shard is not renewed")
		}
	}
}
