package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/dispatch"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

// Calls of two engines may fail before or after they are executed. All instances must end correctly, and no completion may be
// applied twice.
func TestFaultsLoseNothing(t *testing.T) {
	stale := 0
	for seed := range depth.Of[uint64](6, 60) {
		synctest.Test(t, func(t *testing.T) {
			store := memoryBackend(t, int(seed%3)+1)
			log := newLedger()
			engines := make([]*Engine, 2)
			backends := make([]*troubled, 2)
			for i := range engines {
				backends[i] = &troubled{Backend: store.Open(memory.Options{}), rand: rand.New(rand.NewPCG(seed, uint64(i))), before: 0.1, after: 0.1}
				engines[i] = start(t, Config{
					Backend: backends[i], Slots: 4, Batch: int(seed%4) + 1, Lease: 2 * time.Second, RetryMax: 100 * time.Millisecond, Observer: log.observer(),
				})
			}
			reqs := make([]SubmitRequest, 12)
			for i := range reqs {
				reqs[i] = SubmitRequest{Program: fanOut(t), Input: json.RawMessage(`{"count": 10}`)}
				if i%2 == 0 {
					reqs[i] = SubmitRequest{Program: chain(t, 9), Input: json.RawMessage(`{"x": 81}`)}
				}
			}
			ids, err := engines[0].SubmitAll(t.Context(), reqs)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			for _, id := range ids {
				inst, err := engines[1].Wait(ctx, id)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				wantResult(t, inst, "90")
			}
			seen := log.close(t, engines...)
			seen.check(t)
			if backends[0].count() == 0 || backends[1].count() == 0 {
				t.Errorf("seed %d: no faults happened", seed)
			}
			stale += seen.answers[backend.Stale]
		})
	}
	if stale == 0 {
		t.Error("no completion was ever offered again after it had been applied")
	}
}

type disowning struct {
	backend.Backend
	once atomic.Bool
}

func (b *disowning) Renew(ctx context.Context, shard int, leases []backend.Lease, grant backend.Grant) ([]bool, error) {
	if b.once.CompareAndSwap(false, true) {
		return make([]bool, len(leases)), nil
	}
	return b.Backend.Renew(ctx, shard, leases, grant)
}

func TestLostLeaseCancelsTheAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newLedger()
		causes := make(chan error, 8)
		e := start(t, Config{
			Backend: &disowning{Backend: memoryBackend(t, 1)}, Lease: 3 * time.Second, Observer: log.observer(),
			Workers: registry(t, map[string]worker.Func{"slow": func(ctx context.Context, _ worker.Call) (any, error) {
				timer := time.NewTimer(2 * time.Second)
				defer timer.Stop()
				select {
				case <-timer.C:
					return "done", nil
				case <-ctx.Done():
					causes <- context.Cause(ctx)
					return "not to be seen", nil
				}
			}}),
		})
		inst := run(t, e, compile(t, "fn main(input: [], output: [x]):\n    x = @slow()\n    return x\n"), `{}`)
		wantResult(t, inst, `"done"`)
		if len(causes) != 1 || !errors.Is(<-causes, dispatch.ErrLeaseLost) {
			t.Errorf("the action was cancelled %d times", len(causes))
		}
		seen := log.close(t, e)
		seen.check(t)
		if len(seen.started) != 2 || len(seen.applied) != 1 {
			t.Errorf("%d starts, %d applied; want 2 deliveries of one run", len(seen.started), len(seen.applied))
		}
	})
}

// Both engines must work, and everything must be applied once; then again with one engine cut off halfway.
func TestTwoEnginesShareAFanOut(t *testing.T) {
	elements := depth.Of(600, 4000)
	for _, cut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := memoryBackend(t, 2)
			work := registry(t, map[string]worker.Func{"work": func(ctx context.Context, call worker.Call) (any, error) {
				timer := time.NewTimer(5 * time.Millisecond)
				defer timer.Stop()
				select {
				case <-timer.C:
					return 1, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}})
			p := compile(t, "fn main(input: [count], output: [n]):\n    all = spread range(count):i -> @work(i=i)\n    return sum(all)\n")
			logs := []*ledger{newLedger(), newLedger()}
			engines := make([]*Engine, 2)
			backends := make([]*troubled, 2)
			for i := range engines {
				backends[i] = &troubled{Backend: store.Open(memory.Options{}), rand: rand.New(rand.NewPCG(1, 1))}
				engines[i] = start(t, Config{Backend: listening{backends[i]}, Slots: 8, Prefetch: -1, Lease: 3 * time.Second, Drain: -1, Workers: work, Observer: logs[i].observer()})
			}
			if cut {
				go func() {
					timer := time.NewTimer(100 * time.Millisecond)
					defer timer.Stop()
					<-timer.C
					backends[0].breakDown()
				}()
			}
			begun := time.Now()
			id, err := engines[0].Submit(t.Context(), SubmitRequest{Program: p, Input: json.RawMessage(fmt.Sprintf(`{"count": %d}`, elements))})
			if err != nil {
				t.Fatal(err)
			}
			inst, err := engines[1].Wait(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			wantResult(t, inst, fmt.Sprint(elements))
			if took := time.Since(begun); took > 5*time.Second { // the lease, and the work itself
				t.Errorf("it took %v", took)
			}
			applied := map[backend.Key]int{}
			for i, log := range logs {
				seen := log.close(t, engines[i])
				seen.check(t)
				if len(seen.started) < 20 {
					t.Errorf("engine %d started only %d", i, len(seen.started))
				}
				for key := range seen.applied {
					applied[key]++
				}
			}
			for key, n := range applied {
				if n != 1 {
					t.Errorf("%+v was applied by %d engines", key, n)
				}
			}
		})
	}
}

type listening struct{ *troubled }

func (l listening) Listen(ctx context.Context, wake func()) error {
	return l.Backend.(backend.Listener).Listen(ctx, wake)
}

func (l listening) Notify(ctx context.Context) error {
	return l.Backend.(backend.Listener).Notify(ctx)
}
