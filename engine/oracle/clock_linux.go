package oracle

import (
	"time"

	"golang.org/x/sys/unix"
)

// MachineClock is one clock for all processes of a machine, which nobody sets: CLOCK_MONOTONIC. It advances while a process is
// stopped.
func MachineClock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return time.Now().UnixNano() // every Linux has it
	}
	return ts.Nano()
}
