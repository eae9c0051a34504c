package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/adapter/judge"
	"pulley/chaos/fault"
	"pulley/chaos/fault/inject"
	"pulley/internal/pause"
)

// disturb injects the faults of the plan, one after another, and then the exhaustive ones.
func (r *run) disturb(ctx context.Context) error {
	if err := r.rehearse(ctx); err != nil {
		return err
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
		in := r.injector()
		happened, err := in.Inject(ctx, kind, f)
		if err != nil {
			return fmt.Errorf("fault %d, %s: %w", i+1, f, err)
		}
		if !happened {
			r.result.warn("fault %d, %s", i+1, in.Missing(f))
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

func (r *run) injector() *inject.Injector {
	return &inject.Injector{
		World: r.world, Ledger: r.world.ledger, Happened: r.result.Faults, Missed: r.result.Missed, IsOver: r.isStill, Begin: r.noteFault,
		Within: func(f fault.Fault) time.Duration { return f.Hold() + faultWithin },
	}
}

// noteFault notes a try of a fault in the history, with a number.
func (r *run) noteFault(f fault.Fault) inject.Note {
	r.injected++
	name := fmt.Sprintf("%d %s", r.injected, f)
	r.history.note(judge.Entry{Kind: judge.FaultBegan, Fault: name})
	return inject.Note{Over: func() {}, End: func(out inject.Outcome) {
		if out.Happened {
			r.hit = time.Now()
			r.config.say("fault: %s, %d times", f, out.Count)
		}
		r.history.note(judge.Entry{Kind: judge.FaultEnded, Fault: name})
	}}
}

// rehearsals is how often rare events are rehearsed: a message seen twice belongs to the baseline.
const rehearsals = 2

// rehearse makes every kind of transaction happen without a lost message, if the case has exhaustive faults.
func (r *run) rehearse(ctx context.Context) error {
	if r.ExhaustMS == 0 {
		return nil
	}
	if err := inject.Rehearse(ctx, r.world, rehearsals, func() error {
		_ = pause.For(ctx, r.recovers())
		return r.awaitEnds(ctx, r.InFlight)
	}); err != nil {
		return fmt.Errorf("the rehearsal: %w", err)
	}
	return nil
}

// Of the exhaustive faults.
const (
	holdMax    = 10 * time.Second // of the shortest turns
	everyGapMS = 15               // minimum between two cuts
	stillMax   = 4                // turns without a new message: what is left does not come any more
)

// exhaust repeats the exhaustive faults until each has been at every message of the baseline, or the time is over.
func (r *run) exhaust(ctx context.Context) error {
	if err := r.injector().Visit(ctx, inject.Tour{
		Kinds: fault.Every(), Most: time.Duration(r.ExhaustMS) * time.Millisecond, HoldMS: int(min(r.recovers(), holdMax).Milliseconds()), GapMS: everyGapMS, IdleMax: stillMax,
	}); err != nil {
		return err
	}
	for _, kind := range fault.Every() {
		if left := kind.Unvisited(r.world.ledger.Places); len(left) > 0 {
			r.result.warn("%s has not come to %d messages, such as %s", kind.Name, len(left), left[0])
		}
	}
	return nil
}
