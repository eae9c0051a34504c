package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// slack is the allowed delay of wake-ups of this thread in ns, by default 50 µs.
const slack = 1000

// The goroutine must be locked to its thread.
func sleep(d time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	rest := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // a signal may end it sooner; callers check
}
