package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

const catchesDeath = `fn main(input: [], output: [x]):
    try:
        x = @poison()
    except WorkerDied:
        x = "caught"
`

func put(t *testing.T, store backend.Backend, p *plan.Program, n int) {
	t.Helper()
	subs := make([]backend.Submission, n)
	for i := range subs {
		subs[i] = backend.Submission{ID: uuid.New(), Program: p, Input: []byte(`{}`)}
	}
	if _, err := store.Submit(t.Context(), subs, backend.Grant{}); err != nil {
		t.Fatal(err)
	}
}

// Each engine is cut off from its store during an attempt, as if it had died. The attempt must start as often as the bound
// allows, and then fail.
func TestPoisonInMemory(t *testing.T) {
	for _, bound := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { poisonInMemory(t, bound) })
		})
	}
}

func poisonInMemory(t *testing.T, bound int) {
	t.Helper()
	store := memoryBackend(t, 1)
	put(t, store, compile(t, catchesDeath), 1)
	var begun []int
	ended := make(chan backend.Instance, 1)
	for len(begun) <= bound+1 && len(ended) == 0 {
		dies := make(chan int, 1)
		wire := &troubled{Backend: store, rand: rand.New(rand.NewPCG(1, 1))}
		actions := registry(t, map[string]worker.Func{"poison": func(ctx context.Context, call worker.Call) (any, error) {
			wire.breakDown()
			dies <- call.Delivery
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		e := start(t, Config{Backend: wire, Workers: actions, Lease: 30 * time.Millisecond, Poll: 5 * time.Millisecond, Drain: -1, MaxDeliveries: bound,
			Observer: Observer{Ended: func(inst backend.Instance, _ time.Time) { ended <- inst }}})
		select {
		case n := <-dies:
			begun = append(begun, n)
		case inst := <-ended:
			wantResult(t, inst, `"caught"`)
			ended <- inst
		}
		stop(t, e)
	}
	want := make([]int, bound)
	for i := range want {
		want[i] = i + 1
	}
	if !slices.Equal(begun, want) {
		t.Errorf("begun were deliveries %v; want %v", begun, want)
	}
}

// An attempt whose worker died must be redelivered after a pause, up to the bound.
func TestWorkersThatDieBesideTheEngine(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var begun []int
	actions := registry(t, map[string]worker.Func{"poison": func(_ context.Context, call worker.Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		begun = append(begun, call.Delivery)
		return nil, fmt.Errorf("asking: %w", &worker.DiedError{Cause: errors.New("signal: killed")})
	}})
	var offered []string
	e := start(t, Config{Backend: memoryBackend(t, 1), Workers: actions, MaxDeliveries: 3, Observer: Observer{
		Offered: func(c backend.Completion, _ time.Time) {
			mu.Lock()
			defer mu.Unlock()
			offered = append(offered, c.Failure.Type)
		},
	}})
	wantResult(t, run(t, e, compile(t, catchesDeath), `{}`), `"caught"`)
	inst := run(t, e, compile(t, "fn main(input: [], output: [x]):\n    x = @poison()\n"), `{}`)
	mu.Lock()
	defer mu.Unlock()
	if f := inst.Failure; f == nil || f.Type != "WorkerDied" || f.Action != "poison" || f.Pos.Line != 2 {
		t.Errorf("it failed with %+v", f)
	}
	if want := []int{1, 2, 3, 1, 2, 3}; !slices.Equal(begun, want) {
		t.Errorf("begun were deliveries %v; want %v", begun, want)
	}
	if want := []string{"WorkerDied", "WorkerDied"}; !slices.Equal(offered, want) {
		t.Errorf("offered were %v; want %v", offered, want)
	}
}

// Engines that run one attempt and hold another are stopped repeatedly: no delivery may count.
func TestStoppingIsNoDeath(t *testing.T) {
	t.Parallel()
	store := memoryBackend(t, 1)
	put(t, store, compile(t, "fn main(input: [], output: [x]):\n    x = @held()\n"), 2)
	for round := range 4 {
		began := make(chan int, 2)
		actions := registry(t, map[string]worker.Func{"held": func(ctx context.Context, call worker.Call) (any, error) {
			began <- call.Delivery
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		e := start(t, Config{Backend: store, Workers: actions, Slots: 1, Prefetch: 1, Poll: 5 * time.Millisecond, Drain: -1, MaxDeliveries: 1})
		if n := <-began; n != 1 {
			t.Errorf("round %d: it is delivery %d; want the first", round, n)
		}
		stop(t, e)
	}
}

func TestRestAfterDeath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deliveries int
		random     float64
		want       time.Duration
	}{
		{1, 0, 50 * time.Millisecond},
		{1, 1, 100 * time.Millisecond},
		{2, 0.5, 150 * time.Millisecond},
		{9, 1, 25600 * time.Millisecond},
		{10, 1, 30 * time.Second},
		{1_000_000_000, 0, 15 * time.Second},
	} {
		if got := redeliveryPause(c.deliveries, c.random); got != c.want {
			t.Errorf("after %d deliveries, with %v, it rests for %v; want %v", c.deliveries, c.random, got, c.want)
		}
	}
}
