package fault

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type lateEngine struct {
	Engine
	after   time.Duration
	ordered time.Time
	ended   time.Time
}

func (e *lateEngine) Order(o Order) error {
	if o == (Order{}) {
		e.ended = time.Now()
	} else {
		e.ordered = time.Now()
	}
	return nil
}

func (e *lateEngine) OrdersDone() int {
	if !e.ordered.IsZero() && time.Since(e.ordered) >= e.after {
		return 1
	}
	return 0
}

// TestMisbehaveWaitsForWhatWasOrdered checks that an idle engine gets more time, and that a fault is missed if the engine never
// executes its order.
func TestMisbehaveWaitsForWhatWasOrdered(t *testing.T) {
	for _, c := range []struct {
		after, lasts time.Duration
		want         error
	}{
		{time.Second / 2, time.Second, nil},
		{3 * time.Second, 3 * time.Second, nil},
		{time.Hour, time.Second + armedFor, ErrMissed},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &lateEngine{after: c.after}
			over := false
			err := orderFault(t.Context(), e, Order{Repeat: 1}, Fault{HoldMS: 1000}, func() { over = true })
			if lasted := e.ended.Sub(e.ordered); !errors.Is(err, c.want) || lasted != c.lasts || !over {
				t.Errorf("an engine that needs %v: %v after %v, over %v; want %v after %v", c.after, err, lasted, over, c.want, c.lasts)
			}
		})
	}
}
