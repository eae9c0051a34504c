package engine_test

import (
	"context"
	"errors"
	"fmt"
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

// Urgent instances pass hundreds that wait, at each of their steps, on two engines; others that come after them do not.
func TestUrgentInstancesPass(t *testing.T) {
	const usual, few = 120, 5
	on(t, limitedDesigns(), func(s *site) {
		var started atomic.Int64
		work := s.with("usual", func(ctx context.Context, _ worker.Call) (any, error) {
			started.Add(1)
			return 1, pause.For(ctx, 20*time.Millisecond)
		})
		if err := work.Register("few", func(ctx context.Context, _ worker.Call) (any, error) { return 1, pause.For(ctx, 20*time.Millisecond) }); err != nil {
			s.Fatal(err)
		}
		engines := []*engine.Engine{s.host(s.open(), engine.Config{Workers: work, Slots: 2}), s.host(s.open(), engine.Config{Workers: work, Slots: 2})}
		submit := func(action string, n, priority int) (ids []uuid.UUID) {
			reqs := make([]engine.SubmitRequest, n)
			p := program(s.T, fmt.Sprintf(threeSteps, action), ir.Limits{})
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
		all := submit("usual", usual, 0)
		before := started.Load()
		urgent := submit("few", few, 7)
		late := submit("few", few, 0)
		first := await(urgent) - before
		last := await(late) - before
		await(all)
		for _, e := range engines {
			s.stop(e)
		}
		s.Logf("%d of %d usual tasks started before %d urgent instances had ended, and %d before others had that came later", first, 3*usual, few, last)
		if 4*first > 3*last || started.Load() < 3*usual {
			s.Errorf("the urgent instances did not pass the others: %d of %d usual tasks started before they had ended", first, 3*usual)
		}
	})
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
