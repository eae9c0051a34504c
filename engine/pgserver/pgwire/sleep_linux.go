package pgwire

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepUntil sleeps in the kernel, exact to some 60 µs: on an idle machine Go's timers are up to a millisecond late, as much as
// the simulated distances. It occupies a thread.
func sleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		t := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&t, nil) // a signal wakes it up early, and it sleeps again
	}
}
