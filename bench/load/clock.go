package load

import (
	"context"
	"time"
)

// SystemClock is the machine's monotonic clock, from a moment on.
type SystemClock struct{ Began time.Time }

// Now is how long it is since the beginning.
func (c SystemClock) Now() time.Duration { return time.Since(c.Began) }

// sleepMax bounds how long the clock sleeps in one piece, in which nothing can wake it.
const sleepMax = 10 * time.Millisecond

// Until sleeps in the kernel rather than by a timer of the runtime, which may fire a millisecond late when the program is
// idle, and later when it is not.
func (c SystemClock) Until(ctx context.Context, at time.Duration, wake <-chan struct{}) error {
	if wake != nil {
		return c.untilWoken(ctx, at, wake)
	}
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left := at - c.Now()
		if left <= 0 {
			return nil
		}
		sleep(min(left, sleepMax))
	}
}

// untilWoken waits for what wakes it, which is what a closed process waits for.
func (c SystemClock) untilWoken(ctx context.Context, at time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(at - c.Now())
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
