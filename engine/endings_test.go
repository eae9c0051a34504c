package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/dispatch"
	"pulley/engine/worker"
)

type mute struct {
	*memory.Backend
	silent atomic.Bool
}

func (m *mute) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	if m.silent.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.Backend.Lookup(ctx, ids)
}

// One of two instances is ended without this engine. Its task must be cancelled at the next renewal, with that cause if the
// store answers in time. The other instance's task must keep its lease even if the store does not answer.
func TestEndsElsewhereAreLookedUp(t *testing.T) {
	for _, c := range []struct {
		name   string
		silent bool
		want   error
		after  time.Duration
	}{
		{"told", false, dispatch.ErrInstanceEnded, 10 * time.Second},
		{"not told", true, dispatch.ErrLeaseLost, 25 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &mute{Backend: memoryBackend(t, 1)}
				log := newLedger()
				began, causes := make(chan struct{}, 2), make(chan error, 1)
				e := start(t, Config{
					Backend: store, Lease: 30 * time.Second, CallTimeout: time.Minute, Observer: log.observer(),
					Workers: registry(t, map[string]worker.Func{
						"wait": func(ctx context.Context, _ worker.Call) (any, error) {
							began <- struct{}{}
							<-ctx.Done()
							causes <- context.Cause(ctx)
							return nil, ctx.Err()
						},
						"long": func(ctx context.Context, _ worker.Call) (any, error) {
							began <- struct{}{}
							select {
							case <-time.After(5 * time.Minute):
								return "held", nil
							case <-ctx.Done():
								return nil, context.Cause(ctx)
							}
						},
					}),
				})
				submit := func(action string) uuid.UUID {
					id, err := e.Submit(t.Context(), SubmitRequest{
						Program: compile(t, "fn main(input: [], output: [x]):\n    x = @"+action+"()\n"), Input: []byte(`{}`),
					})
					if err != nil {
						t.Fatal(err)
					}
					<-began
					return id
				}
				ends, stays := submit("wait"), submit("long")
				store.silent.Store(c.silent)
				if _, err := store.Cancel(t.Context(), []uuid.UUID{ends}, "elsewhere"); err != nil {
					t.Fatal(err)
				}
				at := time.Now()
				if cause := <-causes; !errors.Is(cause, c.want) {
					t.Errorf("the action was cut off because of: %v; want %v", cause, c.want)
				}
				if took := time.Since(at); took != c.after {
					t.Errorf("it was cut off after %v, want %v", took, c.after)
				}
				store.silent.Store(false)
				inst, err := e.Wait(t.Context(), stays)
				if err != nil {
					t.Fatal(err)
				}
				wantResult(t, inst, `"held"`)
				told := log.look().problems
				if c.silent != (len(told) > 0 && strings.HasPrefix(told[0], "looking up 1 instances whose leases were lost, which may be another engine's now: no answer within half a lease")) {
					t.Errorf("told were %q", told)
				}
			})
		})
	}
}
