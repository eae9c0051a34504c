package load

import (
	"context"
	"time"
)

// SystemClock is the machine's monotonic clock, since Began.
type SystemClock struct{ Began time.Time }

// Now is the time since Began.
func (c SystemClock) Now() time.Duration { return time.Since(c.Began) }

const sleepMax = 10 * time.Millisecond

// Until sleeps in the kernel: a runtime timer may fire a millisecond late when the program is idle, and later when it is not.
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
