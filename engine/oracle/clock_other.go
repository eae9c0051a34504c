//go:build !linux

package oracle

import "time"

// MachineClock is one clock for all processes of a machine: the wall clock, whose jumps are jumps of the history's times.
func MachineClock() int64 { return time.Now().UnixNano() }
