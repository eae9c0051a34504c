package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/internal/pause"
)

const threeSteps = "fn main(input: [], output: [x]):\n    a = @%[1]s()\n    b = @%[1]s(after=a)\n    x = @%[1]s(after=b)\n"

// Urgent instances of three steps pass hundreds that wait, and others of three steps that came before them, on two engines. How long
// each step takes does not matter: the others end only after all that waited before them has started. Not all need to be passed, since an
// instance that is submitted at the moment when an engine has room for it starts at once.
func TestUrgentInstancesPass(t *testing.T) {
	const waiting, few = 360, 5
	on(t, limitedDesigns(), func(s *site) {
		var started atomic.Int64
		submitted := make(chan struct{})
		work := s.with("usual", func(ctx context.Context, _ worker.Call) (any, error) {
			started.Add(1)
			select {
			case <-submitted:
			case <-ctx.Done():
			}
			return 1, pause.For(ctx, 20*time.Millisecond)
		})
		if err := work.Register("few", func(ctx context.Context, _ worker.Call) (any, error) { return 1, pause.For(ctx, 20*time.Millisecond) }); err != nil {
			s.Fatal(err)
		}
		var mu sync.Mutex
		var ended []uuid.UUID // in order
		cfg := engine.Config{Workers: work, Slots: 2, Observer: engine.Observer{Ended: func(inst backend.Instance, _ time.Time) {
			mu.Lock()
			defer mu.Unlock()
			ended = append(ended, inst.ID)
		}}}
		engines := []*engine.Engine{s.host(s.open(), cfg), s.host(s.open(), cfg)}
		submit := func(text string, n, priority int) (ids []uuid.UUID) {
			reqs := make([]engine.SubmitRequest, n)
			p := program(s.T, text, ir.Limits{})
			for i := range reqs {
				reqs[i] = engine.SubmitRequest{Program: p, Priority: priority}
			}
			ids, err := engines[0].SubmitAll(s.ctx, reqs)
			if err != nil {
				s.Fatal(err)
			}
			return ids
		}
		await := func(ids []uuid.UUID) int64 {
			for _, id := range ids {
				if inst, err := engines[0].Wait(s.ctx, id); err != nil || inst.Status != backend.Completed {
					s.Fatalf("%+v, %v", inst, err)
				}
			}
			return started.Load()
		}
		all := submit("fn main(input: [], output: [x]):\n    x = @usual()\n", waiting, 0)
		others := submit(fmt.Sprintf(threeSteps, "few"), few, 0)
		urgent := submit(fmt.Sprintf(threeSteps, "few"), few, 7)
		close(submitted)
		first := await(urgent)
		last := await(others)
		await(all)
		for _, e := range engines {
			s.stop(e)
		}
		s.Logf("%d of %d tasks had started before %d urgent instances had ended, and %d before those that came before them had", first, waiting, few, last)
		slices.SortFunc(others, byPlace(ended))
		passed := slices.MaxFunc(urgent, byPlace(ended))
		if i, k := slices.Index(ended, passed), slices.Index(ended, others[few/2]); i < 0 || k < i {
			s.Errorf("the urgent instances did not pass the others: the last of them ended in place %d, and half of the others had by place %d", i, k)
		}
	})
}

// byPlace compares by the places in a list.
func byPlace(list []uuid.UUID) func(a, b uuid.UUID) int {
	return func(a, b uuid.UUID) int { return slices.Index(list, a) - slices.Index(list, b) }
}

// Stores without priorities refuse them, and so does a priority that there is not.
func TestPrioritiesAreRefused(t *testing.T) {
	on(t, designs.Durable(), func(s *site) {
		e := s.host(s.open(), engine.Config{Workers: s.with("usual", func(context.Context, worker.Call) (any, error) { return 1, nil })})
		p := program(s.T, fmt.Sprintf(threeSteps, "usual"), ir.Limits{})
		_, err := e.Submit(s.ctx, engine.SubmitRequest{Program: p, Priority: 1})
		switch name := s.design.Name(); name {
		case "push", "journal":
			if err != nil {
				s.Error(err)
			}
		default:
			if !errors.Is(err, backend.ErrNoPriorities) {
				s.Errorf("%s: %v", name, err)
			}
		}
		for _, wrong := range []int{-1, 10} {
			if _, err := e.Submit(s.ctx, engine.SubmitRequest{Program: p, Priority: wrong}); err == nil {
				s.Errorf("priority %d is accepted", wrong)
			}
		}
		s.stop(e)
	})
}
