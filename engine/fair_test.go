package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/worker"
)

const (
	crowdSource = "fn main(input: [n], output: [x]):\n    x = spread range(n):i -> @crowd(value=i)\n"
	guestSource = "fn main(input: [], output: [x]):\n    x = @guest()\n"
)

// Instances of one step pass the hundreds of node runs that wait before them: those of one instance, or of as many instances of another
// workflow. They do not where nothing takes turns. What is counted is how much of the crowd starts in between, whatever it takes. A second step would
// wait for a commit, while tasks that take no time start by the hundred.
func TestFair(t *testing.T) {
	const crowd, guests = 900, 4
	for name, submitCrowd := range map[string]func() []engine.SubmitRequest{
		"instances": func() []engine.SubmitRequest {
			return []engine.SubmitRequest{{Program: program(t, crowdSource, ir.Limits{}), Input: []byte(`{"n": 900}`)}}
		},
		"workflows": func() []engine.SubmitRequest {
			reqs := make([]engine.SubmitRequest, crowd)
			for i := range reqs {
				reqs[i] = engine.SubmitRequest{Program: program(t, crowdSource, ir.Limits{}), Input: []byte(`{"n": 1}`)}
			}
			return reqs
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, limitedDesigns(), func(s *site) {
				var part [2]float64
				for i, fair := range []bool{false, true} {
					part[i] = startedBefore(s, fair, submitCrowd(), guests) / crowd
				}
				s.Logf("before the last of %d instances, %.0f %% of a crowd had started, and %.0f %% with turns", guests, 100*part[0], 100*part[1])
				if part[0] < 0.9 || part[1] > 0.3 {
					s.Error("the guests did not take turns with the crowd, or did so without it being asked for")
				}
			})
		})
	}
}

// startedBefore submits a crowd and then guests, whose engine works only when all are there. It returns how many of the crowd's tasks started
// before the last task of the guests.
func startedBefore(s *site, fair bool, crowd []engine.SubmitRequest, guests int) float64 {
	var started, before atomic.Int64
	submitted := make(chan struct{})
	work := s.with("crowd", func(ctx context.Context, _ worker.Call) (any, error) {
		started.Add(1)
		select {
		case <-submitted:
		case <-ctx.Done():
		}
		return 1, nil
	})
	if err := work.Register("guest", func(context.Context, worker.Call) (any, error) {
		before.Store(started.Load())
		return 1, nil
	}); err != nil {
		s.Fatal(err)
	}
	one, err := designs.Parse(s.design.Name() + ":shards=1") // in other shards, guests need no turns
	if err != nil {
		s.Fatal(err)
	}
	s.design = one
	e := s.host(s.open(), engine.Config{Workers: work, Slots: 4, Prefetch: -1, Fair: fair})
	submit := func(reqs []engine.SubmitRequest) []uuid.UUID {
		ids, err := e.SubmitAll(s.ctx, reqs)
		if err != nil {
			s.Fatal(err)
		}
		return ids
	}
	all := submit(crowd)
	few := make([]engine.SubmitRequest, guests)
	for i := range few {
		few[i] = engine.SubmitRequest{Program: program(s.T, guestSource, ir.Limits{})}
	}
	ids := submit(few)
	close(submitted)
	await := func(ids []uuid.UUID) {
		for _, id := range ids {
			if inst, err := e.Wait(s.ctx, id); err != nil || inst.Status != backend.Completed {
				s.Fatalf("%+v, %v", inst, err)
			}
		}
	}
	await(ids)
	await(all)
	s.stop(e)
	return float64(before.Load())
}

// Stores that take no turns are refused.
func TestFairIsRefused(t *testing.T) {
	on(t, designs.Durable(), func(s *site) {
		_, err := engine.New(engine.Config{Backend: s.open(), Workers: s.with("a", func(context.Context, worker.Call) (any, error) { return 1, nil }), Fair: true})
		switch name := s.design.Name(); {
		case name == "push" || name == "journal":
			if err != nil {
				s.Error(err)
			}
		case err == nil || !strings.Contains(err.Error(), "takes no turns"):
			s.Errorf("%s: %v", name, err)
		}
	})
}
