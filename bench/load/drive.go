package load

import (
	"context"
	"runtime"
	"time"
)

// Clock is the time of a run, which begins at 0.
type Clock interface {
	Now() time.Duration
	// Until returns at a time or little later, or sooner when wake has an item or, with its cause, when ctx has ended. It may
	// return sooner for no reason.
	Until(ctx context.Context, at time.Duration, wake <-chan struct{}) error
}

// Target is the system under load. Its methods must not block.
type Target interface {
	Send(b Batch)
	// sent requests that have not ended
	InFlight() int
}

// Pace is the generator's own performance.
type Pace struct {
	Busy  time.Duration // time without waiting
	Whole time.Duration
}

// Grain is the shortest interval between checks for due requests. Faster requests are sent together, at most this late.
const Grain = 50 * time.Microsecond

// Drive sends requests when they are due, until the pacer is done or ctx has ended. It uses no processor time while nothing is
// due.
func Drive(ctx context.Context, p *Pacer, clock Clock, target Target, wake <-chan struct{}) (Pace, error) {
	if !p.Closed() {
		runtime.LockOSThread() // the clock sleeps in the kernel
		defer runtime.UnlockOSThread()
	}
	var pace Pace
	for {
		now := clock.Now()
		batch, again, more := p.Due(now, target.InFlight())
		if batch.Count+batch.Dropped > 0 {
			target.Send(batch)
		}
		done := clock.Now()
		pace.Busy, pace.Whole = pace.Busy+done-now, done
		if !more {
			return pace, nil
		}
		if err := clock.Until(ctx, max(again, now+Grain), wake); err != nil {
			return pace, err
		}
	}
}
