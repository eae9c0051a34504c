package engine_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/worker"
)

// TestOldInstancesAreDeleted checks that two engines with a retention delete each old ended instance once, and neither young nor
// running ones.
func TestOldInstancesAreDeleted(t *testing.T) {
	onEveryDatabase(t, func(s *site) {
		const old = 30
		ends := program(s.T, "fn main(input: [], output: [x]):\n    x = 1\n", ir.Limits{})
		waits := program(s.T, "fn main(input: [], output: [x]):\n    sleep 36000\n    x = 1\n", ir.Limits{})
		store := s.open()
		e := s.host(store, engine.Config{})
		running := s.submitted(e, waits, "{}")
		var ended []uuid.UUID
		for range old {
			ended = append(ended, s.ends(e, ends, "{}").ID)
		}
		s.stop(e)
		s.passTime(2 * time.Hour)
		e = s.host(store, engine.Config{})
		young := s.ends(e, ends, "{}").ID
		s.stop(e)

		var deleted atomic.Int64
		all := make(chan struct{})
		engines := make([]*engine.Engine, 2)
		for i := range engines {
			engines[i] = s.host(s.open(), engine.Config{Retention: time.Hour, Observer: engine.Observer{Purged: func(p backend.Purged, _ time.Time) {
				if deleted.Add(int64(p.Completed+p.Failed+p.Canceled)) == old {
					close(all)
				}
			}}})
		}
		select {
		case <-all:
		case <-s.ctx.Done():
			s.Fatalf("%d of %d were deleted", deleted.Load(), old)
		}
		for _, e := range engines {
			s.stop(e)
		}
		found, err := store.Lookup(s.ctx, append(ended, young, running))
		if err != nil {
			s.Fatal(err)
		}
		for i, inst := range found {
			if want := map[int]backend.Status{old: backend.Completed, old + 1: backend.Running}[i]; inst.Status != want {
				s.Errorf("instance %d is %q, want %q", i, inst.Status, want)
			}
		}
		if n := deleted.Load(); n != old {
			s.Errorf("%d were deleted, want %d", n, old)
		}
	})
}

func TestRetentionIsRefused(t *testing.T) {
	store := memory.New(memory.Options{})
	defer store.Close()
	none, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for retention, want := range map[time.Duration]string{
		time.Second: "Retention is 1s, must be from 1m0s to",
		-time.Hour:  "Retention is -1h0m0s, must be from 1m0s to",
		time.Hour:   "Retention is set, and backend engine_test.plain deletes nothing; use another one",
	} {
		if _, err := engine.New(engine.Config{Backend: plain{store}, Workers: none, Retention: retention}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
