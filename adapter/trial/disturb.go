package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"pulley/adapter/judge"
	"pulley/chaos/fault"
	"pulley/internal/pause"
)

const killSignal = syscall.SIGKILL

// disturb injects the faults of the plan, one after another, and then the exhaustive ones.
func (r *run) disturb(ctx context.Context) error {
	if r.ExhaustMS > 0 {
		if err := r.rehearse(ctx); err != nil {
			return fmt.Errorf("the rehearsal: %w", err)
		}
	}
	r.world.ledger.Places.Baseline()
	if r.world.ledger.Places.Coverage().Messages == 0 {
		all := len(r.Faults)
		r.planned = slices.DeleteFunc(slices.Clone(r.Faults), func(f fault.Fault) bool { return !strings.HasPrefix(f.Kind, "process.") })
		if n := all - len(r.planned); n > 0 {
			r.result.warn("%d faults of connections and of Postgres were left out: the system has no connection", n)
		}
	}
	begun := time.Now()
	for i, f := range r.planned {
		if r.WithinMS > 0 && time.Since(begun) > time.Duration(r.WithinMS)*time.Millisecond {
			r.result.warn("there was no time for %d of %d faults", len(r.planned)-i, len(r.planned))
			break
		}
		if r.isStill() {
			r.result.warn("the last %d of %d faults were left out: nothing happened any more that they could hit", len(r.planned)-i, len(r.planned))
			break
		}
		kind, err := fault.Find(f.Kind)
		if err != nil {
			return err
		}
		before := time.Now()
		happened, err := r.try(ctx, kind, f)
		if err != nil {
			return fmt.Errorf("fault %d, %s: %w", i+1, f, err)
		}
		if !happened {
			r.result.warn("fault %d, %s, did not happen in %d tries", i+1, f, triesMax)
		}
		_ = pause.For(ctx, spacing(r.recovers())-time.Since(before))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if len(r.Faults) > 0 && len(r.result.Faults) == 0 {
		r.result.doubt("no fault happened")
	}
	if r.ExhaustMS > 0 && !r.isStill() {
		return r.exhaust(ctx)
	}
	return nil
}

// isStill reports whether the system has done nothing for so long, since the last fault that hit it, that it seems to have stopped.
func (r *run) isStill() bool {
	return min(r.history.still(), time.Since(r.hit)) > max(2*r.recovers(), stillLeast)
}

// stillLeast is how long nothing happens at least in a system that has stopped.
const stillLeast = 10 * time.Second

// try injects a fault until it happens, or nothing happens any more.
func (r *run) try(ctx context.Context, kind fault.Kind, f fault.Fault) (happened bool, err error) {
	for try := 0; try < triesMax && (try == 0 || !r.isStill()); try++ {
		if happened, err = r.inject(ctx, kind, f); happened || err != nil {
			return happened, err
		}
		if kind.Nth {
			f.K = max(1, f.K/2) // its moment may be too far off
		}
	}
	return false, nil
}

// inject injects a fault once.
func (r *run) inject(ctx context.Context, kind fault.Kind, f fault.Fault) (happened bool, err error) {
	_ = pause.For(ctx, time.Duration(f.When.AfterMS)*time.Millisecond)
	injecting, cancel := context.WithTimeout(ctx, f.Hold()+faultWithin)
	defer cancel()
	r.injected++
	name := fmt.Sprintf("%d %s", r.injected, f)
	r.history.note(judge.Entry{Kind: judge.FaultBegan, Fault: name})
	defer r.history.note(judge.Entry{Kind: judge.FaultEnded, Fault: name})
	var count atomic.Int64
	before := r.world.Failed()
	err = kind.Inject(injecting, r.world, f, func() { count.Add(1) })
	if err == nil && !r.world.awaitFailure(ctx, kind, before) {
		err = fault.ErrMissed
	}
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, fault.ErrMissed):
		r.result.Missed[f.Kind]++
		return false, nil
	case err != nil:
		return false, err
	}
	r.hit = time.Now()
	r.result.Faults[f.Kind] += int(count.Load())
	r.config.say("fault: %s, %d times", f, count.Load())
	return true, nil
}

// failedWithin is how long an error may still be in flight after a fault.
const failedWithin = 3 * time.Second

// awaitFailure waits until the errors that a kind of fault must cause have reached a process.
func (w *world) awaitFailure(ctx context.Context, kind fault.Kind, before map[string]int) bool {
	for until := time.Now().Add(failedWithin); ; {
		if kind.HasHappened(before, w.Failed()) {
			return true
		}
		if time.Now().After(until) || pause.For(ctx, 5*time.Millisecond) != nil {
			return false
		}
	}
}

// rehearsals is how often rare events are rehearsed: a message seen twice belongs to the baseline.
const rehearsals = 2

// rehearse makes every kind of transaction happen without a lost message: processes stop and start, and one is killed and its
// work taken over.
func (r *run) rehearse(ctx context.Context) error {
	for range rehearsals {
		for _, p := range r.world.places {
			if err := p.Stop(ctx); err != nil {
				return err
			}
			if err := p.Start(ctx); err != nil {
				return err
			}
		}
		first := r.world.places[0]
		if err := first.Signal(killSignal); err != nil {
			return err
		}
		select {
		case <-first.Exited():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := first.Start(ctx); err != nil {
			return err
		}
		_ = pause.For(ctx, r.recovers())
		if err := r.awaitEnds(ctx, r.InFlight); err != nil {
			return err
		}
	}
	return nil
}

// unvisited counts the messages that exhaustive faults have not visited.
func (r *run) unvisited() (n int) {
	for _, kind := range fault.Every() {
		n += len(kind.Unvisited(r.world.ledger.Places))
	}
	return n
}

// stillMax is after how many turns that reached no new message the exhaustive faults end: what is left does not come any more.
const stillMax = 4

// exhaust repeats the exhaustive faults until each has been at every message of the baseline, or the time is over.
func (r *run) exhaust(ctx context.Context) error {
	places := r.world.ledger.Places
	places.Only(true)
	defer places.Only(false)
	hold := int(min(r.recovers(), 10*time.Second).Milliseconds())
	begun := time.Now()
	left, still := r.unvisited(), 0
	for turn := 0; left > 0 && still < stillMax && time.Since(begun) < time.Duration(r.ExhaustMS)*time.Millisecond; turn++ {
		for _, kind := range fault.Every() {
			if len(kind.Unvisited(places)) == 0 {
				continue
			}
			if _, err := r.inject(ctx, kind, fault.Fault{Kind: kind.Name, Engine: turn % r.Processes, HoldMS: hold * (1 + turn%3), K: 15}); err != nil {
				return fmt.Errorf("%s: %w", kind.Name, err)
			}
		}
		if now := r.unvisited(); now < left {
			left, still = now, 0
		} else {
			still++
		}
	}
	for _, kind := range fault.Every() {
		if left := kind.Unvisited(places); len(left) > 0 {
			r.result.warn("%s has not come to %d messages, such as %s", kind.Name, len(left), left[0])
		}
	}
	return nil
}
