package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// slack is how much later than asked the kernel may wake this thread, in nanoseconds. By default it is 50 µs.
const slack = 1000

// sleep sleeps for so long. The thread must be the caller's own.
func sleep(d time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	rest := unix.NsecToTimespec(int64(d))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &rest, nil) // a signal may end it sooner, which is looked at
}
