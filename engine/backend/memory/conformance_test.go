package memory_test

import (
	"sync"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/plan"
)

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(1_000_000, 0)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func store(t *testing.T, b *memory.Backend, opts memory.Options) backendtest.Store {
	t.Cleanup(func() {
		checker := b.Open(memory.Options{})
		if err := checker.Check(); err != nil {
			t.Error(err)
		}
	})
	return backendtest.Store{
		Backend:      b,
		Reopen:       func(*testing.T) backend.Backend { return b.Open(opts) },
		Leftovers:    b.Open(memory.Options{}).Leftovers,
		StoredCounts: b.Open(memory.Options{}).StoredCounts,
	}
}

func TestConformance(t *testing.T) {
	t.Run("virtual clock", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
			c := newClock()
			o := memory.Options{Shards: opts.Shards, Clock: c.Now}
			s := store(t, memory.New(o), o)
			s.Advance = c.Advance
			return s
		})
	})
	t.Run("real clock", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
			o := memory.Options{Shards: opts.Shards}
			return store(t, memory.New(o), o)
		})
	})
}

func flaky() *plan.Failure { return &plan.Failure{Type: "Flaky", Message: "made to fail"} }
