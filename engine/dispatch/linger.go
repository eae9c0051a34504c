package dispatch

import "time"

// linger is how a shard's next commit waits for the tasks that a reply has just brought, to take them along. Without it, a shard's
// instances would divide into two crowds that commit in turn, each while the other's tasks run.
type linger struct {
	until time.Time // zero: for nothing
	last  time.Time // what until may become
	above int       // it ends when no more of the shard's tasks run than before the reply

	failed uint // in a row, which were too short
	skips  int  // replies after which none begins, since the last ones were too short
}

// A commit lingers for a part of the time that the call took whose reply brought the tasks: a larger commit saves no more than what
// another one costs by itself.
const (
	lingerPart    = 4
	lingerTaskMax = 2 * time.Millisecond
	failedMax     = 6 // so one reply of 64 begins one where tasks take long
)

// begin must be called before the tasks start. While one lasts, another reply makes it longer.
func (l *linger) begin(now time.Time, took time.Duration, running int) {
	switch {
	case now.Before(l.until):
		l.until = earliest(l.last, latest(l.until, now.Add(took/lingerPart)))
	case l.skips > 0:
		l.skips--
	default:
		l.last, l.above = now.Add(lingerTaskMax), running
		l.until = earliest(l.last, now.Add(took/lingerPart))
	}
}

// lasts reports whether to wait. It is called only while there is something to commit.
func (l *linger) lasts(now time.Time, running int) bool {
	switch {
	case l.until.IsZero():
		return false
	case running <= l.above:
		l.until, l.failed = time.Time{}, 0
		return false
	case now.Before(l.until):
		return true
	}
	l.until, l.failed = time.Time{}, min(l.failed+1, failedMax)
	l.skips = 1 << l.failed
	return false
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
