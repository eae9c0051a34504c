package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"pulley/engine/dispatch"
)

// All jobs wait for one another, so each must start.
func TestPoolNeverHoldsBack(t *testing.T) {
	const n = 3 * idleMax
	var begun sync.WaitGroup
	begun.Add(n)
	p := newPool(func(job) {
		begun.Done()
		begun.Wait()
	})
	defer p.close()
	for i := range n {
		p.run(job{start: dispatch.Start{ID: dispatch.TaskID(i + 1)}, action: new(actionContext)})
	}
	begun.Wait()
}

func TestPoolUsesGoroutinesAgain(t *testing.T) {
	const n, most = 20_000, 20_000 / 8
	var done, peak atomic.Int64
	all := make(chan struct{})
	before := int64(runtime.NumGoroutine())
	p := newPool(func(job) {
		if now := int64(runtime.NumGoroutine()) - before; now > peak.Load() {
			peak.Store(now)
		}
		if done.Add(1) == n {
			close(all)
		}
	})
	for i := range n {
		p.run(job{start: dispatch.Start{ID: dispatch.TaskID(i + 1)}, action: new(actionContext)})
	}
	<-all
	p.close()
	if peak.Load() > most || p.idle != 0 {
		t.Errorf("%d goroutines did %d jobs that take no time, %d wait still; at most %d are wanted", peak.Load(), n, p.idle, most)
	}
}
