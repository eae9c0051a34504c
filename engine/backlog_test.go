package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/limit"
	"pulley/engine/schedule"
	"pulley/engine/worker"
)

// limitedDesigns are those that have limits.
func limitedDesigns() (list []designs.Spec) {
	for _, d := range designs.Durable() {
		if d.Name() == "push" || d.Name() == "journal" {
			list = append(list, d)
		}
	}
	return list
}

const backlogSource = "fn main(input: [], output: [x]):\n    x = @work()\n"

// Engines of one store whose callers submit as fast as they can never exceed a limit of instances, and everything is submitted.
func TestBacklogIsBounded(t *testing.T) {
	const most, engines, each = 20, 3, 60
	on(t, limitedDesigns(), func(s *site) {
		running := func() int64 {
			return s.number("SELECT count(*) FROM " + s.schema + ".instances WHERE status = 'running'")
		}
		limits := s.open().(backend.Limiter)
		if err := limits.SetLimit(s.ctx, limit.Limit{Name: "backlog", Instances: most}); err != nil {
			s.Fatal(err)
		}
		work := s.with("work", func(ctx context.Context, _ worker.Call) (any, error) { return 1, nil })
		ctx, cancel := context.WithCancel(s.ctx)
		var group, watch sync.WaitGroup
		highest := int64(0)
		watch.Go(func() {
			for ctx.Err() == nil {
				highest = max(highest, running())
			}
		})
		for range engines {
			e := s.host(s.open(), engine.Config{Limits: true, Workers: work})
			p := program(s.T, backlogSource, ir.Limits{})
			for range 4 {
				group.Go(func() {
					reqs := make([]engine.SubmitRequest, each/4)
					for i := range reqs {
						reqs[i].Program = p
					}
					ids, err := e.SubmitAll(s.ctx, reqs)
					if err != nil {
						s.Error(err)
					}
					for _, id := range ids {
						if inst, err := e.Wait(s.ctx, id); err != nil || inst.Status != backend.Completed {
							s.Errorf("%+v, %v", inst, err)
						}
					}
				})
			}
			defer s.stop(e)
		}
		group.Wait()
		cancel()
		watch.Wait()
		if stored := s.number("SELECT count(*) FROM " + s.schema + ".instances"); highest > most || highest < most/2 || stored != engines*4*(each/4) {
			s.Errorf("at most %d of %d instances ran at a time; %d are stored", highest, most, stored)
		}
	})
}

// Without a place a submission waits, or is refused; a repetition of what is there needs none, and a tick of a schedule waits.
func TestSubmittingBeyondALimit(t *testing.T) {
	on(t, limitedDesigns(), func(s *site) {
		store := s.open()
		if err := store.(backend.Limiter).SetLimit(s.ctx, limit.Limit{Name: "backlog", Instances: 2, Workflows: []string{"hazard.ir"}}); err != nil {
			s.Fatal(err)
		}
		release := make(chan struct{})
		work := s.with("work", func(ctx context.Context, _ worker.Call) (any, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return 1, nil
		})
		e := s.host(store, engine.Config{Limits: true, Schedules: true, SchedulePoll: 10 * time.Millisecond, Workers: work})
		p := program(s.T, backlogSource, ir.Limits{})
		first := s.submitted(e, p, "{}")
		s.submitted(e, p, "{}")
		third := uuid.New()
		_, err := e.Submit(s.ctx, engine.SubmitRequest{ID: third, Program: p, NoWait: true})
		if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "limit backlog: ") {
			s.Errorf("the third of two: %v", err)
		}
		if _, err := e.Submit(s.ctx, engine.SubmitRequest{ID: first, Program: p, NoWait: true}); err != nil {
			s.Errorf("a repetition: %v", err)
		}
		twice := engine.SubmitRequest{ID: uuid.New(), Program: p, NoWait: true}
		if _, err := e.SubmitAll(s.ctx, []engine.SubmitRequest{{ID: first, Program: p}, twice, twice, {ID: first, Program: p}}); !errors.Is(err, engine.ErrFull) || strings.Count(err.Error(), "limit backlog") != 2 {
			s.Errorf("several, one of them there: %v", err)
		}
		brief, cancel := context.WithTimeout(s.ctx, 50*time.Millisecond)
		if _, err := e.Submit(brief, engine.SubmitRequest{ID: third, Program: p}); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("one that waits, and not for long: %v", err)
		}
		cancel()
		s.submitted(e, compileAnswer(s.T), `{"x": 1}`) // the limit does not cover it

		times, err := schedule.Compile(schedule.Spec{Every: 100 * time.Millisecond})
		if err != nil {
			s.Fatal(err)
		}
		often := backend.Schedule{ID: uuid.New(), Name: "often", Program: p, Input: json.RawMessage("{}"), Times: times}
		if err := store.(backend.Scheduler).AddSchedule(s.ctx, often, false); err != nil {
			s.Fatal(err)
		}
		ticks := func() (found backend.StoredSchedule) {
			all, _, err := store.(backend.Scheduler).Schedules(s.ctx, "often")
			if err != nil || len(all) != 1 {
				s.Fatal(all, err)
			}
			return all[0]
		}
		s.awaitThat(func() bool { return len(ticks().State.Start) > 0 })
		if n := s.number("SELECT count(*) FROM " + s.schema + ".instances"); n != 3 {
			s.Errorf("%d instances are stored", n)
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := e.Submit(s.ctx, engine.SubmitRequest{ID: third, Program: p}); err != nil {
				s.Errorf("one that waits: %v", err)
			}
		})
		close(release)
		wait.Wait()
		if inst, err := e.Wait(s.ctx, third); err != nil || inst.Status != backend.Completed {
			s.Errorf("%+v, %v", inst, err)
		}
		fired := ticks().State.Fired
		s.awaitThat(func() bool { return ticks().State.Fired > fired+2 })
		s.stop(e)
	})
}
