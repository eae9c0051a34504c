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

// What a run waits for are events, and no verdict goes by how fast the machine is. The bounds here say when an event is
// not going to come any more.
const (
	warmWithin  = 30 * time.Second // for the load before the first fault, with the times that the case begins with
	growthsMax  = 3                // so often are its times doubled where the load was not there, and it is waited for twice as long
	livenessMin = 10 * time.Second // an instance's own work, and never less than this
	livenessMax = 10 * time.Minute // of all of the work that is left
	beat        = 10 * time.Millisecond
)

// warm waits until enough instances have ended and every engine has worked. Where that does not come about, the machine is
// too slow for the case's times: a lease runs out before its work is done, and a call before its answer comes. The engines
// begin again then with longer ones.
func (r *run) warm(ctx context.Context) error {
	want := warmRounds * r.InFlight
	if r.RatePerS > 0 { // InFlight is a bound then
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

// warmFor waits for so long, and says whether the load is there.
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

// grow has every engine begin again, with all times of the case twice as long. Nothing is done to the case of whoever
// called Run; the result has the times that were used.
func (r *run) grow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, world.StartWithin)
	defer cancel()
	r.LeaseMS, r.SweepMS, r.CallMS = 2*r.LeaseMS, 2*r.SweepMS, 2*r.CallMS
	r.Faults = slices.Clone(r.Faults)
	for i := range r.Faults {
		r.Faults[i].HoldMS *= 2 // what is to be longer than a lease still is
	}
	r.result.Case = r.Case
	r.result.warn("the machine is slow: the run had leases of %v, and calls of at most %v", r.Lease(), r.Call())
	r.load.setResubmitAfter(r.Case)
	return r.world.Restart(ctx, r.Case)
}

// errStill says that nothing goes on any more.
var errStill = errors.New("nothing continued")

// live waits until every instance has ended, for as long as that may take (I9): as long as one goes on, which is slow where
// the machine is, and then for as long as it may take until somebody has what an engine left.
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

// awaitIdle waits until nothing is open. It gives errStill where no instance goes on for so long, or for livenessMax they go
// on and on. The time is counted in beats: while the machine has no time for the run, none is.
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
