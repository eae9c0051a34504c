package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule/turn"
)

// Bounds of one turn with schedules.
const (
	schedulesAtOnce = 64
	ticksAtOnce     = 100
	firingRetry     = time.Second
)

// runSchedules takes turns with due schedules until the engine drains; a turn that has begun is finished. A turn that fails is
// followed by growing pauses.
func (e *Engine) runSchedules() {
	cfg := turn.Config{
		Store: e.cfg.Backend.(backend.Scheduler), Instances: scheduled{e}, Schedules: schedulesAtOnce, Ticks: ticksAtOnce, Lease: e.cfg.Lease, RetryPause: firingRetry,
	}
	retry := e.cfg.RetryMin
	for e.scheduling.Err() == nil {
		one, begun := turn.New(cfg), time.Now()
		pause := retry
		if e.takeTurn(one) {
			retry = e.cfg.RetryMin
			pause = one.Pause(e.cfg.SchedulePoll) - time.Since(begun)
		} else {
			retry = min(2*retry, e.cfg.RetryMax)
		}
		if pause <= 0 {
			continue
		}
		e.restUntilDrain(pause)
	}
}

func (e *Engine) restUntilDrain(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.scheduling.Done():
	}
}

// callContext bounds one call of the backend.
func (e *Engine) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(e.work, e.cfg.CallTimeout, fmt.Errorf("no answer within the %v of CallTimeout", e.cfg.CallTimeout))
}

// takeTurn reports whether the turn had no errors.
func (e *Engine) takeTurn(one *turn.Turn) bool {
	good := true
	for over := false; !over; {
		ctx, cancel := e.callContext()
		var err error
		over, err = one.Step(ctx)
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
		cancel()
		if err != nil {
			good = false
			e.cfg.Observer.problem(fmt.Errorf("schedules, tried again: %w", err))
		}
	}
	return good
}

// scheduled is the engine as schedules use it.
type scheduled struct{ *Engine }

// Start implements turn.Instances. It does not check actions: engines that know them may run the instance.
func (e scheduled) Start(ctx context.Context, firings []turn.Firing) []error {
	errs, sent := make([]error, len(firings)), make([]*submission, len(firings))
	for i, f := range firings {
		sent[i] = e.newSubmission(backend.Submission{ID: f.ID, Program: f.Schedule.Program, Input: f.Schedule.Input})
		errs[i] = e.send(ctx, sent[i])
	}
	for i := range sent {
		if errs[i] != nil {
			continue
		}
		if errs[i] = e.receive(ctx, sent[i]); errors.Is(errs[i], errRefused) {
			errs[i] = turn.Refuse(errs[i])
		}
	}
	return errs
}

// Cancel implements turn.Instances.
func (e scheduled) Cancel(ctx context.Context, ids []uuid.UUID) error {
	canceler, ok := e.cfg.Backend.(backend.Canceler)
	if !ok {
		return ErrCannotCancel
	}
	for some := range slices.Chunk(ids, lookupBatch) {
		found, err := canceler.Cancel(ctx, some, "a later tick of its schedule is due")
		if err != nil {
			return err
		}
		for _, inst := range found {
			if inst.Status != "" {
				e.canceled(inst)
			}
		}
	}
	return nil
}

// Lookup implements turn.Instances.
func (e scheduled) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	var all []backend.Instance
	for some := range slices.Chunk(ids, lookupBatch) {
		found, err := e.cfg.Backend.Lookup(ctx, some)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
