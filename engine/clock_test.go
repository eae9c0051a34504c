package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"pulley/engine/worker"
)

func TestClockOfItsOwn(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		e := start(t, Config{Backend: memoryBackend(t, 2), Clock: func() time.Time { return time.Now().Add(ahead) }})
		wantResult(t, run(t, e, chain(t, 5), `{"x": 0}`), `5`)
	}
}

// The clock jumps beyond the end of a lease while the action runs. The engine must abandon the task at once, though the lease
// is still valid in the store, and run it again when the lease has expired there.
func TestClockJumps(t *testing.T) {
	const lease = 300 * time.Millisecond
	var ahead, calls atomic.Int64
	jump := func(ctx context.Context, _ worker.Call) (any, error) {
		if calls.Add(1) == 1 {
			ahead.Store(int64(3 * lease))
			<-ctx.Done() // only the jump ends it: live leases are renewed
			ahead.Store(0)
			return nil, context.Cause(ctx)
		}
		return 7, nil
	}
	e := start(t, Config{
		Backend: memoryBackend(t, 2), Workers: registry(t, map[string]worker.Func{"jump": jump}), Lease: lease, Poll: 10 * time.Millisecond,
		Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	p := compile(t, "fn main(input: [], output: [x]):\n    x = @jump()\n    return x\n")
	wantResult(t, run(t, e, p, `{}`), `7`)
	if calls.Load() != 2 {
		t.Errorf("the action ran %d times, want 2", calls.Load())
	}
}
