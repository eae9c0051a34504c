package sim

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLittle checks that the law holds after all have left, with sums beyond 64 bits, and that one nanosecond breaks it.
func TestLittle(t *testing.T) {
	var l level
	for i := range 100 {
		l.enter(time.Duration(i))
	}
	if l.lawful() {
		t.Error("the law holds while a hundred are in the system")
	}
	const late = math.MaxInt64 / 2
	for i := range 99 {
		l.leave(late+time.Duration(2*i), time.Duration(i))
	}
	broken := l
	l.leave(late+500, 99)
	if !l.lawful() || l.area.hi == 0 {
		t.Errorf("an area of %v, and %v spent", l.area, l.spent)
	}
	if mean := l.area.dividedBy(late + 500); math.Abs(mean-100) > 1e-9 {
		t.Errorf("a mean of %v in the system; want 100", mean)
	}
	if broken.leave(late+500, 98); broken.lawful() {
		t.Error("the law holds although one was there for a nanosecond longer")
	}
}

// TestLittleIsHeld checks that a corrupt count of a finished world is reported.
func TestLittleIsHeld(t *testing.T) {
	for _, l := range []func(*world) *level{
		func(w *world) *level { return &w.present }, func(w *world) *level { return &w.waiting }, func(w *world) *level { return &w.running },
	} {
		w := &world{}
		if w.little(); len(w.result.Violations) > 0 {
			t.Fatal(w.result.Violations)
		}
		l(w).spent.add(1, 1)
		if w.little(); len(w.result.Violations) != 1 || !strings.Contains(w.result.Violations[0], "Little's law") {
			t.Errorf("violations: %q", w.result.Violations)
		}
	}
}
