//go:build !linux

package oracle

import "time"

// MachineClock is one clock for all processes of a machine: the wall clock, so that a jump of it is a jump
// of the history's times.
func MachineClock() int64 { return time.Now().UnixNano() }
