package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/engine"
	"pulley/engine/backend"
)

const (
	retryMax    = time.Second      // between retries of a failing call
	stopTimeout = 5 * time.Second  // of the engine's end
	exitTimeout = 15 * time.Second // how long successive calls may fail before we give up
)

type drive struct {
	job     *job
	workers int
	timeout time.Duration

	deliveries int
	report     func(string)
	trace      *traceRecorder // nil: no trace wanted
}

// run submits the instance and waits for its end, its timeout, or a database that has failed for too long. It stops the engine
// before it returns.
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
	_, limits := store.(backend.Limiter)
	e, err := engine.New(engine.Config{
		Backend: store, Workers: d.job.own.registry, Slots: d.workers, Batch: d.job.spec.Batch(),
		CallTimeout: stored.CallTimeout, RetryMax: retryMax,
		Grace: d.job.own.grace(), MaxDeliveries: d.deliveries, Limits: limits && d.job.spec.NeedsPostgres(), Signals: d.job.own.takesSignals(store),
		Drain:    -1, // nobody waits for actions of an ended or abandoned instance
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

// pgProblem gives up when no database call has succeeded for a while. The engine would retry without end, but somebody waits
// for this command, and a full disk does not recover by itself.
type pgProblem struct {
	mu       sync.Mutex
	began    time.Time // of successive failures; zero: none
	latest   time.Time
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

// problem counts failures as successive only if they are close: a failing call repeats at least every stored.CallTimeout + retryMax,
// so an unreported success lies in a longer pause.
func (t *pgProblem) problem(err error) {
	t.report(err.Error())
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.began.IsZero() || now.Sub(t.latest) > stored.CallTimeout+2*retryMax {
		t.began = now
	}
	t.latest = now
	if since := now.Sub(t.began); since >= exitTimeout {
		t.deadline(fmt.Errorf("no progress for %s: %w", since.Round(time.Second), err))
	}
}
