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

// everyKinds are the kinds of the plan that go from one message to the next, each once.
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

// rehearse has every kind of transaction happen without a message being lost, where the plan has faults that go to each:
// engines stop and start, one is killed, and its leases are taken back. What came by then is the baseline.
func (r *run) rehearse(ctx context.Context) error {
	if len(r.everyKinds()) > 0 {
		if err := r.asSpan("rehearsal", func() error { return r.restartAll(ctx) }); err != nil {
			return fmt.Errorf("the rehearsal: %w", err)
		}
	}
	r.ledger.Places.Baseline()
	return nil
}

// asSpan has something that ends engines, and is no fault of the plan, stand among the faults: what comes back after it is not
// counted for the fault before it.
func (r *run) asSpan(kind string, do func() error) error {
	s := recovery.Span{Fault: fault.Fault{Kind: kind}, Begun: oracle.MachineClock()}
	if err := do(); err != nil {
		return err
	}
	s.Over = oracle.MachineClock()
	r.spans = append(r.spans, s)
	return nil
}

// rehearsalRounds is how often what is rare is rehearsed: twice seen, a message belongs to the baseline.
const rehearsalRounds = 3

func (r *run) restartAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	rounds := rehearsalRounds
	if r.covered != nil { // not all is to be gone to
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
		_ = pause.For(ctx, r.Lease()+r.Sweep()) // the leases run out, and are taken back
		r.watch.awaitEvents(ctx, string(oracle.Ended), r.InFlight, r.Lease())
	}
	return nil
}

// exhaustMessages has the faults that go from message to message go on until they were at all of the baseline.
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

// exhaustiveLeases is how many leases the faults last by turns while what is left is gone to, at most: some messages come only
// where engines and connections live for a while, others where they do not.
const exhaustiveLeases = 3

// everyGapMS is the least time between two cuts while what is left is gone to.
const everyGapMS = 5
