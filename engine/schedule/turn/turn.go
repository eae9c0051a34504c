// Package turn takes an engine through one turn with due schedules. It has no goroutine and no clock, so that the engine and a
// simulation run the same code.
//
// A turn has steps, each with at most one call that writes:
//
//  1. Claim due schedules.
//  2. Carry out what their states have left, which an engine before decided and perhaps did not finish.
//  3. Look up which of their instances still run.
//  4. Decide, and save the decisions.
//  5. Carry out the decisions: cancel instances, then start instances.
//  6. Save that this was done, and when each schedule is due next.
//
// An engine may die between any two steps, and within them. Before step 4, nothing has been decided, and the next engine decides.
// After it, the decision is stored: the next engine carries it out in its step 2, when the lease of the first has ended. The id of
// an instance follows from schedule and tick, so that starting it twice starts it once.
//
// An engine that was paused in a turn, while another took over, does no harm. Its saves have an old version. What it starts or
// cancels was decided, so that another has done so already, or will.
package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/schedule"
	"pulley/internal/clip"
)

// Instances starts and ends instances. No method does harm when it is called again.
type Instances interface {
	// Start stores instances, and returns an error for each, or nil: nil if it is stored or was before, an error of Refuse if no
	// repetition helps.
	Start(ctx context.Context, firings []Firing) []error

	// Cancel cancels instances. One that is unknown or has ended is no error.
	Cancel(ctx context.Context, ids []uuid.UUID) error

	// Lookup is that of backend.Backend.
	Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error)
}

// Firing is an instance to be started.
type Firing struct {
	ID       uuid.UUID // of the instance
	Schedule backend.Schedule
	Tick     time.Time
}

// Refuse marks the error of an instance that can never be stored.
func Refuse(err error) error { return &refused{err} }

type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// Config configures turns.
type Config struct {
	Store     backend.Scheduler
	Instances Instances
	Schedules int           // claimed in a turn, at most
	Ticks     int           // of a schedule that are decided in a turn, at most
	Lease     time.Duration // of a claimed schedule: when another engine carries out what this one did not

	// RetryPause is the pause before what failed for one schedule is tried again.
	RetryPause time.Duration
}

// Turn is one turn. It is not safe for concurrent use.
type Turn struct {
	cfg     Config
	step    func(context.Context) error // the next one; nil: the turn is over
	now     time.Time                   // the store's, of the claim
	next    time.Time                   // when a schedule is due next, as far as this engine knows
	full    bool                        // more schedules may be due
	work    []*work
	running map[uuid.UUID]bool
}

type work struct {
	backend.StoredSchedule
	changed bool  // State, or when it is due, is not stored
	err     error // why it is left to a later turn
	lost    bool  // another engine has it
}

// New begins a turn.
func New(cfg Config) *Turn {
	t := &Turn{cfg: cfg}
	t.step = t.claim
	return t
}

// Step does the next step and reports whether the turn is over. An error ends the turn, if it is over, or belongs to one or more
// schedules, which are tried again later.
func (t *Turn) Step(ctx context.Context) (over bool, err error) {
	if t.step == nil {
		return true, nil
	}
	err = t.step(ctx)
	return t.step == nil, err
}

// Pause returns how long after the turn's claim there is nothing to do, at most most.
func (t *Turn) Pause(most time.Duration) time.Duration {
	switch {
	case t.full:
		return 0
	case t.next.IsZero():
		return most
	}
	return min(max(t.next.Sub(t.now), 0), most)
}

func (t *Turn) claim(ctx context.Context) error {
	t.step = nil
	claimed, err := t.cfg.Store.ClaimSchedules(ctx, t.cfg.Schedules, t.cfg.Lease)
	if err != nil {
		return fmt.Errorf("claiming schedules: %w", err)
	}
	t.now, t.full = claimed.Now, len(claimed.Schedules) == t.cfg.Schedules
	t.due(claimed.NextDue)
	var errs []error
	for _, s := range claimed.Schedules {
		if s.Err != nil { // the lease keeps it from being claimed all the time; another engine may know it
			errs = append(errs, s.Err)
			continue
		}
		t.work = append(t.work, &work{StoredSchedule: s})
	}
	if len(t.work) > 0 {
		t.step = t.finishEarlier
	}
	return errors.Join(errs...)
}

func (t *Turn) due(at time.Time) {
	if !at.IsZero() && (t.next.IsZero() || at.Before(t.next)) {
		t.next = at
	}
}

func (t *Turn) finishEarlier(ctx context.Context) error {
	t.step = t.lookUp
	return t.carryOut(ctx)
}

func (t *Turn) lookUp(ctx context.Context) error {
	var ids []uuid.UUID
	for _, w := range t.work {
		for _, tick := range w.State.Running {
			ids = append(ids, schedule.FiringID(w.ID, tick))
		}
	}
	t.running, t.step = map[uuid.UUID]bool{}, t.decide
	if len(ids) == 0 {
		return nil
	}
	found, err := t.cfg.Instances.Lookup(ctx, ids)
	if err != nil {
		t.step = nil
		return fmt.Errorf("looking up the instances of %d schedules: %w", len(t.work), err)
	}
	for _, inst := range found {
		t.running[inst.ID] = inst.Status == backend.Running
	}
	return nil
}

func (t *Turn) decide(ctx context.Context) error {
	for _, w := range t.work {
		if w.err == nil {
			runs := func(tick time.Time) bool { return t.running[schedule.FiringID(w.ID, tick)] }
			w.State = w.Times.Decide(w.ID, w.State, t.now, runs, t.cfg.Ticks)
		}
		w.changed = true
	}
	t.step = t.start
	return t.save(ctx)
}

func (t *Turn) start(ctx context.Context) error {
	t.step = t.finish
	return t.carryOut(ctx)
}

func (t *Turn) finish(ctx context.Context) error {
	t.step = nil
	return t.save(ctx)
}

// carryOut cancels and starts what the states have, and notes in them what was done.
func (t *Turn) carryOut(ctx context.Context) error {
	var ids []uuid.UUID
	for _, w := range t.work {
		for _, tick := range w.State.Cancel {
			ids = append(ids, schedule.FiringID(w.ID, tick))
		}
	}
	var canceled error
	if len(ids) > 0 {
		if canceled = t.cfg.Instances.Cancel(ctx, ids); canceled != nil {
			canceled = fmt.Errorf("canceling instances of earlier ticks: %w", canceled)
		}
	}
	var firings []Firing
	var of []*work
	for _, w := range t.work {
		switch {
		case len(w.State.Cancel) > 0 && canceled != nil:
			w.err, w.changed = canceled, true
			continue
		case len(w.State.Cancel) > 0:
			w.State.Cancel, w.changed = nil, true
		}
		for _, tick := range w.State.Start {
			firings = append(firings, Firing{ID: schedule.FiringID(w.ID, tick), Schedule: w.Schedule, Tick: tick})
			of = append(of, w)
		}
	}
	errs := []error{canceled}
	if len(firings) > 0 {
		for i, err := range t.cfg.Instances.Start(ctx, firings) {
			if err = of[i].started(firings[i].Tick, err); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// problemRunes bounds the text of a refusal in a state.
const problemRunes = 500

// started notes the answer to a firing, and returns an error to be reported.
func (w *work) started(tick time.Time, err error) error {
	if err != nil {
		err = fmt.Errorf("schedule %s, tick %s: %w", w.Name, tick.Format(time.RFC3339Nano), err)
	}
	w.changed = true
	if _, never := errors.AsType[*refused](err); err != nil && !never {
		w.err = err
		return err
	}
	if err != nil {
		w.State.Refused++
		w.State.Problem = clip.Runes(err.Error(), problemRunes)
	}
	w.State.Start = slices.DeleteFunc(w.State.Start, tick.Equal)
	return err
}

// save stores changed states. A schedule that was saved by another since is left to that.
func (t *Turn) save(ctx context.Context) error {
	var saves []backend.ScheduleSave
	var of []*work
	for _, w := range t.work {
		if !w.changed {
			continue
		}
		switch {
		case w.err != nil:
			w.Wake = t.now.Add(t.cfg.RetryPause)
		case len(w.State.Start)+len(w.State.Cancel) > 0:
			w.Wake = t.now.Add(t.cfg.Lease)
		default:
			w.Wake = w.Times.Wake(w.ID, w.State, t.now)
		}
		saves, of = append(saves, backend.ScheduleSave{ID: w.ID, Version: w.Version, State: w.State, Wake: w.Wake}), append(of, w)
	}
	if len(saves) == 0 {
		return nil
	}
	saved, err := t.cfg.Store.SaveSchedules(ctx, saves)
	if err != nil {
		t.step = nil // what was not stored must not be carried out
		return fmt.Errorf("saving schedules: %w", err)
	}
	for i, w := range of {
		w.Version++
		w.changed, w.lost = false, !saved[i]
		if saved[i] {
			t.due(w.Wake)
		}
	}
	t.work = slices.DeleteFunc(t.work, func(w *work) bool { return w.lost || w.err != nil })
	return nil
}
