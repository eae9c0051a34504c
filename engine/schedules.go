package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/schedule/turn"
)

// Bounds of one turn with schedules.
const (
	schedulesAtOnce = 64
	ticksAtOnce     = 100
	firingRetry     = time.Second
)

// scheduleTurns handle due schedules.
func (e *Engine) scheduleTurns() turns {
	cfg := turn.Config{
		Store: e.cfg.Backend.(backend.Scheduler), Instances: scheduled{e}, Schedules: schedulesAtOnce, Ticks: ticksAtOnce, Lease: e.cfg.Lease, RetryPause: firingRetry,
	}
	return turns{what: "schedules", take: func() (time.Duration, error) {
		one, begun := turn.New(cfg), time.Now()
		err := e.takeTurn(one)
		return one.Pause(e.cfg.SchedulePoll) - time.Since(begun), err
	}}
}

// turns are taken one after another. After one that fails, the rests grow.
type turns struct {
	what  string
	take  func() (rest time.Duration, err error) // after the rest, if it is above 0, the next turn is taken
	await func()                                 // what follows a rest; nil: nothing
}

// repeat begins a goroutine that takes turns until the engine drains; a turn that has begun is finished.
func (e *Engine) repeat(t turns) {
	e.unlooked.Add(1)
	e.running.Go(func() { e.takeTurns(t) })
}

func (e *Engine) takeTurns(t turns) {
	retry, looked := e.cfg.RetryMin, false
	for e.scheduling.Err() == nil {
		rest, err := t.take()
		if err == nil {
			retry = e.cfg.RetryMin
			if !looked {
				looked = true
				e.unlooked.Add(-1)
			}
		} else {
			if e.scheduling.Err() == nil || !saysOnlyStop(err) { // what this engine leaves when it stops, others find
				e.cfg.Observer.problem(fmt.Errorf("%s, tried again in %v: %w", t.what, retry, inOneLine{err}))
			}
			rest, retry = retry, min(2*retry, e.cfg.RetryMax)
		}
		if rest > 0 {
			e.restUntilDrain(rest)
		}
		if rest > 0 && err == nil && t.await != nil {
			t.await()
		}
	}
}

// saysOnlyStop reports whether an error, or each of those that it joins, says that the engine stops.
func saysOnlyStop(err error) bool {
	switch of := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(of.Unwrap(), func(err error) bool { return !saysOnlyStop(err) })
	case interface{ Unwrap() error }:
		return saysOnlyStop(of.Unwrap())
	}
	return errors.Is(err, ErrNotRunning) || errors.Is(err, dispatch.ErrStopped)
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

// takeTurn returns the errors of all steps. An error of some schedules does not end the turn.
func (e *Engine) takeTurn(one *turn.Turn) error {
	var errs []error
	for over := false; !over; {
		ctx, cancel := e.callContext()
		var err error
		over, err = one.Step(ctx)
		errs = append(errs, explain(ctx, err))
		cancel()
	}
	return errors.Join(errs...)
}

// inOneLine is an error, joined from several, for a log.
type inOneLine struct{ error }

func (e inOneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", "; ") }

func (e inOneLine) Unwrap() error { return e.error }

// explain adds why a call's context has ended to its error.
func explain(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
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
