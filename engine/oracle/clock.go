package oracle

import "time"

// Clock returns the nanoseconds since a moment that all recorders of a history share.
type Clock func() int64

// At converts a time of this process to the clock, never too late. A jump of the wall clock does not affect a time with Go's
// monotonic reading.
func (c Clock) At(t time.Time) int64 {
	now := c()
	return now + int64(time.Until(t))
}
