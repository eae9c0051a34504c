package claims

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
)

func TestTurns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &lane{come: make(chan struct{}), idleUntil: make(chan struct{}, 1), done: make(chan struct{})}
	var steps atomic.Int64
	moved := make(chan struct{}, 1)
	go func() {
		defer close(l.done)
		for l.wait(ctx) == nil {
			steps.Add(1)
			select {
			case moved <- struct{}{}:
			default:
			}
		}
	}()
	var last int64
	for turn := range 100 {
		for range 1000 {
			runtime.Gosched() // what was paused may continue now
		}
		before := steps.Load()
		select {
		case <-moved:
		default:
		}
		l.release()
		<-moved
		if err := l.acquire(ctx); err != nil {
			t.Fatal(err)
		}
		if last > 0 && before != last {
			t.Fatalf("turn %d: %d steps before it", turn, before-last)
		}
		if last = steps.Load(); last <= before {
			t.Fatalf("turn %d: nothing was done", turn)
		}
	}
	cancel()
	<-l.done
	if got := steps.Load(); got != last {
		t.Errorf("%d steps without a turn", got-last)
	}
	if !l.finished() {
		t.Error("it is not finished")
	}
	if err := l.acquire(t.Context()); err != nil {
		t.Errorf("a turn of what is done: %v", err)
	}
}
