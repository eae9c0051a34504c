package chaos

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"pulley/chaos/fault"
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
	for range rounds {
		for i := range r.world.Engines() {
			h := r.world.Engine(i)
			if err := h.Stop(ctx); err != nil {
				return err
			}
			if err := h.Start(ctx); err != nil {
				return err
			}
		}
		h := r.world.Engine(0)
		if err := h.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		select {
		case <-h.Exited():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := h.Start(ctx); err != nil {
			return err
		}
		_ = pause.For(ctx, r.Lease()+r.Sweep()) // the leases expire and are taken over
		r.watch.awaitEvents(ctx, string(oracle.Ended), r.InFlight, r.Lease())
	}
	return nil
}

// exhaustMessages repeats the exhaustive faults until each has been at every message of the baseline.
func (r *run) exhaustMessages(ctx context.Context) error {
	places := r.ledger.Places
	r.everywhere = true
	places.Only(true)
	defer places.Only(false)
	r.load.cancelMore()
	begun := time.Now()
	for turn := 0; time.Since(begun) < time.Duration(r.MessagesMS)*time.Millisecond; turn++ {
		idle := true
		for _, kind := range r.everyKinds() {
			if len(kind.Unvisited(places)) == 0 || r.covered != nil && r.covered(places.Coverage()) {
				continue
			}
			idle = false
			f := fault.Fault{Kind: kind.Name, Engine: turn % r.Engines, HoldMS: r.LeaseMS * (1 + turn%exhaustiveLeases), K: everyGapMS}
			if _, err := r.inject(ctx, kind, f); err != nil {
				return fmt.Errorf("continuing with %s: %w", f, err)
			}
		}
		if idle {
			break
		}
	}
	for _, kind := range r.everyKinds() {
		left := kind.Unvisited(places)
		r.unreachedMessages = append(r.unreachedMessages, left...)
		if len(left) > 0 {
			r.result.doubt("%s has not come to %d messages of the baseline, such as %s", kind.Name, len(left), left[0])
		}
	}
	return nil
}

// exhaustiveLeases is the maximum duration of these faults in leases, which varies by turns. Some messages occur only if engines
// and connections live for a while, others only if they do not.
const exhaustiveLeases = 3

// everyGapMS is the minimum time between two cuts of these faults.
const everyGapMS = 5
