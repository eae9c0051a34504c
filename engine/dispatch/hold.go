package dispatch

import "time"

// hold is how long a shard's next commit waits for the tasks that a reply has just brought, to take them along. Without it, a shard's
// instances would divide into two crowds that commit in turn, each while the other's tasks run.
type hold struct {
	until time.Time // zero: it waits for nothing
	last  time.Time // what until may become
	above int       // it ends when no more of the shard's tasks run than before the reply

	failed uint // holds in a row that were too short
	skips  int  // replies after which none begins, since the last ones were too short
}

// A hold lasts for a part of the time that the call took whose reply brought the tasks: a larger commit saves no more than what another
// one costs by itself.
const (
	holdPart  = 4
	holdMax   = 2 * time.Millisecond
	failedMax = 6 // so one reply of 64 begins a hold where tasks take long
)

// begin must be called before the tasks start. While a hold lasts, another reply makes it longer.
func (h *hold) begin(now time.Time, took time.Duration, running int) {
	switch {
	case now.Before(h.until):
		h.until = earliest(h.last, latest(h.until, now.Add(took/holdPart)))
	case h.skips > 0:
		h.skips--
	default:
		h.last, h.above = now.Add(holdMax), running
		h.until = earliest(h.last, now.Add(took/holdPart))
	}
}

// lasts reports whether to wait. It is called only while there is something to commit.
func (h *hold) lasts(now time.Time, running int) bool {
	switch {
	case h.until.IsZero():
		return false
	case running <= h.above:
		h.until, h.failed = time.Time{}, 0
		return false
	case now.Before(h.until):
		return true
	}
	h.until, h.failed = time.Time{}, min(h.failed+1, failedMax)
	h.skips = 1 << h.failed
	return false
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
