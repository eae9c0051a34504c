package sim

import (
	"math/bits"
	"time"
)

// wide is a sum of durations in ns that may overflow a time.Duration: hi·2⁶⁴ + lo.
type wide struct{ hi, lo uint64 }

// add adds n durations d, both not negative.
func (w *wide) add(n int, d time.Duration) {
	hi, lo := bits.Mul64(uint64(n), uint64(d))
	var carry uint64
	w.lo, carry = bits.Add64(w.lo, lo, 0)
	w.hi += hi + carry
}

// dividedBy divides by a positive duration.
func (w wide) dividedBy(d time.Duration) float64 {
	return (float64(w.hi)*(1<<64) + float64(w.lo)) / float64(d)
}

// level counts what is in a system and sums both sides of Little's law, which are equal if the system is empty before and after:
// the area under the count, and the times spent by each member.
//
//	∫ n(t) dt = Σ (left - entered), so with T the time and N the members: mean of n = (N/T) · mean time spent
type level struct {
	n     int
	since time.Duration // when n last changed
	area  wide          // ∫ n dt until since
	spent wide          // by members that have left
}

func (l *level) change(now time.Duration, by int) {
	l.area.add(l.n, now-l.since)
	l.n, l.since = l.n+by, now
}

func (l *level) enter(now time.Duration) { l.change(now, 1) }

func (l *level) leave(now, entered time.Duration) {
	l.change(now, -1)
	l.spent.add(1, now-entered)
}

// lawful reports whether Little's law holds exactly.
func (l *level) lawful() bool { return l.n == 0 && l.area == l.spent }
