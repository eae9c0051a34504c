package oracle

import "time"

// Clock gives the nanoseconds since any moment that all recorders of a history share.
type Clock func() int64

// At gives a moment of this process on the clock, never later than it is. A time that carries Go's
// monotonic reading is not moved by a jump of the wall clock.
func (c Clock) At(t time.Time) int64 {
	now := c()
	return now + int64(time.Until(t))
}
