package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/chaos/world"
	"pulley/engine/oracle"
)

// A run waits for events; no verdict depends on the machine's speed. The bounds here say when an event is not expected any more.
const (
	warmWithin  = 30 * time.Second // for the load before the first fault, with the case's own times
	growthsMax  = 3                // how often the times, and this bound, are doubled if the load is not there
	livenessMin = 10 * time.Second // minimum for an instance's own work
	livenessMax = 10 * time.Minute // for all the remaining work
	beat        = 10 * time.Millisecond
)

// warm waits until enough instances have ended and every engine has worked. If that fails, the machine is too slow for the case's
// times: leases expire before their work is done, and calls before their answer arrives. The engines then restart with longer
// times.
func (r *run) warm(ctx context.Context) error {
	want := warmRounds * r.InFlight
	if r.RatePerS > 0 { // InFlight is only a bound then
		want = min(want, warmRounds*warmPaced*r.Engines)
	}
	within := warmWithin + r.Every()
	for growths := 0; ; growths++ {
		there, err := r.warmFor(ctx, want, within)
		if there || err != nil {
			return err
		}
		ended, _ := r.load.count()
		said := fmt.Sprintf("%d of %d instances ended and %d of %d engines worked within %v", ended, want, r.watch.working(), r.Engines, within)
		if growths == growthsMax || r.soak != nil {
			return fmt.Errorf("the load before the first fault was not there: %s, with leases of %v and calls of %v", said, r.Lease(), r.Call())
		}
		r.say("load: %s; the machine is slow, and every time of the case is doubled", said)
		if err := r.grow(ctx); err != nil {
			return fmt.Errorf("beginning again with longer times: %w", err)
		}
		within *= 2
	}
}

func (r *run) warmFor(ctx context.Context, want int, within time.Duration) (there bool, err error) {
	for begun := time.Now(); ; {
		ended, _ := r.load.count()
		if ended >= want && r.watch.working() == r.Engines && time.Since(begun) >= r.Every() {
			r.say("load: %d instances have ended", ended)
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if time.Since(begun) > within {
			return false, nil
		}
		r.watch.awaitEvents(ctx, string(oracle.Answered), 1, lookupPause)
	}
}

// grow restarts every engine with all times of the case doubled. The caller's case is unchanged; the result has the times used.
func (r *run) grow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	r.LeaseMS, r.SweepMS, r.CallMS = 2*r.LeaseMS, 2*r.SweepMS, 2*r.CallMS
	r.Faults = slices.Clone(r.Faults)
	for i := range r.Faults {
		r.Faults[i].HoldMS *= 2 // stays longer than a lease if it was
	}
	r.result.Case = r.Case
	r.result.warn("the machine is slow: the run had leases of %v, and calls of at most %v", r.Lease(), r.Call())
	r.load.setResubmitAfter(r.Case)
	return r.world.Restart(ctx, r.Case)
}

var errStill = errors.New("nothing continued")

// live waits until every instance has ended (I9): while instances make progress, which is slow on a slow machine, and then for
// the longest time until others take over what an engine left.
func (r *run) live(ctx context.Context) error {
	begun := time.Now()
	bound := r.Takeover() + r.Call() + max(livenessMin, livenessSlow*r.longest)
	r.closed = oracle.MachineClock()
	r.load.close()
	err := r.awaitIdle(ctx, bound)
	r.result.LivenessMS = time.Since(begun).Milliseconds()
	switch {
	case err == nil:
		r.isLive = true
		r.say("liveness: all instances have ended, after %d ms", r.result.LivenessMS)
	case errors.Is(err, errStill):
		_, open := r.load.count()
		r.say("liveness: %d instances have not ended after %d ms, and nothing continued for %v", open, r.result.LivenessMS, bound)
	default:
		return err
	}
	return nil
}

// awaitIdle waits until nothing is open. It returns errStill if no instance makes progress for still, or after livenessMax. It
// counts time in beats, so that time in which the machine stalls does not count.
func (r *run) awaitIdle(ctx context.Context, still time.Duration) error {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	was, quiet, all := r.watch.progress(), time.Duration(0), time.Duration(0)
	for quiet < still && all < livenessMax {
		select {
		case <-r.load.idle:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		quiet, all = quiet+beat, all+beat
		if is := r.watch.progress(); is != was {
			was, quiet = is, 0
		}
	}
	return errStill
}
