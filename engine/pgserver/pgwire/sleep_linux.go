package pgwire

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleepUntil sleeps in the kernel, to some 60 µs: Go's own timers come up to a millisecond late where nothing else runs, which
// is as long as the distances that are put between a client and a server. It keeps a thread for as long as it sleeps.
func sleepUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		t := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&t, nil) // a signal wakes it up early, and it sleeps again
	}
}
