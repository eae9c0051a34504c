package fault

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// stubborn is a container that a busy kernel cannot freeze at first.
type stubborn struct {
	Container
	failures int // of Pause, still to come
	paused   bool
	unpaused int
}

func (s *stubborn) Pause(context.Context) error {
	s.paused = true // a part of it
	if s.failures--; s.failures >= 0 {
		return errors.New("unable to freeze")
	}
	return nil
}

func (s *stubborn) Unpause(context.Context) error {
	s.paused = false
	s.unpaused++
	return nil
}

// TestPauseOfBusyContainer checks that a pause is tried again, and that nothing stays paused where no try succeeds.
func TestPauseOfBusyContainer(t *testing.T) {
	for _, c := range []struct {
		failures int
		took     time.Duration
		missed   bool
	}{{0, 500 * time.Millisecond, false}, {3, 7500 * time.Millisecond, false}, {4, 7 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			s, overs, begun := &stubborn{failures: c.failures}, 0, time.Now()
			err := pauseContainer(t.Context(), s, Fault{HoldMS: 500}, func() { overs++ })
			if errors.Is(err, ErrMissed) != c.missed || !c.missed && (err != nil || overs != 1) || s.paused || time.Since(begun) != c.took {
				t.Errorf("after %d failures: %v, happened %d times, paused %t, in %v", c.failures, err, overs, s.paused, time.Since(begun))
			}
		})
	}
}

// TestPauseEnds checks that no further try follows the end of the fault's time.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s := &stubborn{failures: 100}
		if err := pauseContainer(ctx, s, Fault{HoldMS: 500}, func() {}); !errors.Is(err, ErrMissed) || s.paused || s.unpaused != 2 {
			t.Errorf("%v, paused %t, after %d tries", err, s.paused, s.unpaused)
		}
	})
}
