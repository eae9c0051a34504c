package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine"
	"pulley/engine/backend"
)

const (
	openTimeout = time.Minute      // of setting up a schema
	callTimeout = 10 * time.Second // of one call of the backend
	retryMax    = time.Second      // between tries of a call that fails
	stopTimeout = 5 * time.Second  // of the engine's end
	exitTimeout = 15 * time.Second // how long calls may fail, one after the other, before we give up
)

var errSlow = errors.New("the database does not answer in time; check that it runs and is not locked")

// drive runs one instance on a backend.
type drive struct {
	job     *job
	workers int
	timeout time.Duration

	deliveries int // of an attempt, at most
	report     func(string)
	trace      *traceRecorder // nil: nobody wants to know what ran when
}

// run submits the instance and waits for its end, for the timeout, or until the database has failed
// for too long. The engine has stopped when it returns.
func (d *drive) run(ctx context.Context, store backend.Backend) (backend.Instance, error) {
	ctx, done := context.WithTimeoutCause(ctx, d.timeout, fmt.Errorf("the instance did not end within %s; --timeout gives it longer", d.timeout))
	defer done()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	trouble := &pgProblem{report: d.report, deadline: giveUp, now: time.Now}
	observer := trouble.observer()
	if d.trace != nil {
		observer = d.trace.watch(observer)
	}
	observer = d.tellRetries(observer)
	e, err := engine.New(engine.Config{
		Backend: store, Workers: d.job.own.registry, Slots: d.workers, Batch: d.job.spec.Batch(),
		CallTimeout: callTimeout, RetryMax: retryMax,
		Grace: d.job.own.grace(), MaxDeliveries: d.deliveries,
		Drain:    -1, // nobody waits for actions of an instance that has ended, or that is given up
		Observer: observer,
	})
	if err != nil {
		return backend.Instance{}, err
	}
	if err := e.Start(context.Background()); err != nil {
		return backend.Instance{}, err
	}
	in, err := d.wait(ctx, e)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := e.Stop(stopping); err != nil {
		d.report(fmt.Sprintf("ending the engine: %v", err))
	}
	return in, err
}

// tellRetries tells of attempts of the instance that fail, and that are made anew.
func (d *drive) tellRetries(o engine.Observer) engine.Observer {
	started, offered := o.Started, o.Offered
	o.Started = func(t backend.Task, at time.Time) {
		if started != nil {
			started(t, at)
		}
		switch {
		case t.Lease.Key.Instance != d.job.id || t.Action == "":
		case t.Attempt > 1:
			d.report(fmt.Sprintf("@%s is tried again: attempt %d", t.Action, t.Attempt))
		case t.Deliveries > 1:
			d.report(fmt.Sprintf("@%s is delivered again: delivery %d of attempt %d", t.Action, t.Deliveries, t.Attempt))
		}
	}
	o.Offered = func(c backend.Completion, at time.Time) {
		if offered != nil {
			offered(c, at)
		}
		if c.Failure != nil && c.Lease.Key.Instance == d.job.id {
			d.report(fmt.Sprintf("attempt %d failed: %s", c.Attempt, console.OneLine(c.Failure.String())))
		}
	}
	return o
}

func (d *drive) wait(ctx context.Context, e *engine.Engine) (backend.Instance, error) {
	id, err := e.Submit(ctx, engine.SubmitRequest{ID: d.job.id, Program: d.job.program, Input: d.job.input})
	if err != nil {
		return backend.Instance{}, err
	}
	d.report(fmt.Sprintf("instance %s is stored", id))
	return e.Wait(ctx, id)
}

// pgProblem watches an engine's calls of the database, which it repeats for as long as they fail, and
// gives up for it when nothing has succeeded for a while: somebody waits for this command, and a full
// disk does not go away by itself.
type pgProblem struct {
	mu       sync.Mutex
	began    time.Time // of the failures without a success between; zero: there was none
	latest   time.Time // of them
	report   func(string)
	deadline func(error)
	now      func() time.Time
}

func (t *pgProblem) observer() engine.Observer {
	return engine.Observer{
		Submitted: func(uuid.UUID, time.Time) { t.success() },
		Leased:    func(backend.Task, time.Time) { t.success() },
		Committed: func(int, time.Time) { t.success() },
		Ended:     func(backend.Instance, time.Time) { t.success() },
		Problem:   t.problem,
	}
}

func (t *pgProblem) success() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = time.Time{}
}

// problem notes a failure. One that comes long after the one before stands for itself: failures are
// repeated at least every callTimeout + retryMax, so there was a success between that nobody told of.
func (t *pgProblem) problem(err error) {
	t.report(err.Error())
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.began.IsZero() || now.Sub(t.latest) > callTimeout+2*retryMax {
		t.began = now
	}
	t.latest = now
	if since := now.Sub(t.began); since >= exitTimeout {
		t.deadline(fmt.Errorf("no progress for %s: %w", since.Round(time.Second), err))
	}
}
