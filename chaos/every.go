package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pulley/chaos/fault"
	"pulley/chaos/fault/inject"
	"pulley/chaos/recovery"
	"pulley/chaos/world"
	"pulley/engine/oracle"
	"pulley/internal/pause"
)

func (r *run) everyKinds() []fault.Kind {
	if r.MessagesMS < 0 {
		return nil
	}
	var out []fault.Kind
	for _, f := range r.Faults {
		kind, err := r.find(f.Kind)
		if err == nil && kind.Unvisited != nil && !slices.ContainsFunc(out, func(k fault.Kind) bool { return k.Name == kind.Name }) {
			out = append(out, kind)
		}
	}
	return out
}

// rehearse makes every kind of transaction happen without a lost message, if the plan has exhaustive faults: engines stop and
// start, one is killed and its leases are taken over. The messages seen until then are the baseline.
func (r *run) rehearse(ctx context.Context) error {
	if len(r.everyKinds()) > 0 {
		if err := r.asSpan("rehearsal", func() error { return r.restartAll(ctx) }); err != nil {
			return fmt.Errorf("the rehearsal: %w", err)
		}
	}
	r.ledger.Places.Baseline()
	return nil
}

// asSpan records an action that ends engines among the faults, so that recovery after it is not counted for the fault before it.
func (r *run) asSpan(kind string, do func() error) error {
	s := recovery.Span{Fault: fault.Fault{Kind: kind}, Begun: oracle.MachineClock()}
	if err := do(); err != nil {
		return err
	}
	s.Over = oracle.MachineClock()
	r.spans = append(r.spans, s)
	return nil
}

// rehearsalRounds is how often rare events are rehearsed: a message seen twice belongs to the baseline.
const rehearsalRounds = 3

func (r *run) restartAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	rounds := rehearsalRounds
	if r.covered != nil { // not every message must be reached
		rounds = 1
	}
	return inject.Rehearse(ctx, r.world, rounds, func() error {
		_ = pause.For(ctx, r.Lease()+r.Sweep()) // the leases expire and are taken over
		r.watch.awaitEvents(ctx, string(oracle.Ended), r.InFlight, r.Lease())
		return nil
	})
}

// exhaustMessages repeats the exhaustive faults until each has been at every message of the baseline.
func (r *run) exhaustMessages(ctx context.Context) error {
	r.everywhere = true
	r.load.cancelMore()
	kinds := r.everyKinds()
	if err := r.injector().Visit(ctx, inject.Tour{
		Kinds: kinds, Most: time.Duration(r.MessagesMS) * time.Millisecond, HoldMS: r.LeaseMS, GapMS: everyGapMS, IsEnough: r.covered,
	}); err != nil {
		return fmt.Errorf("continuing with %w", err)
	}
	for _, kind := range kinds {
		left := kind.Unvisited(r.ledger.Places)
		r.unreachedMessages = append(r.unreachedMessages, left...)
		if len(left) > 0 {
			r.result.doubt("%s has not come to %d messages of the baseline, such as %s", kind.Name, len(left), left[0])
		}
	}
	return nil
}

// everyGapMS is the minimum time between two cuts of these faults.
const everyGapMS = 5
