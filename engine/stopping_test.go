package engine

import (
	"errors"
	"fmt"
	"testing"

	"pulley/engine/dispatch"
)

// A problem that comes with the stop is still a problem.
func TestWhatSaysOnlyThatTheEngineStops(t *testing.T) {
	broken := errors.New("the connection is broken")
	stopped := fmt.Errorf("schedule a: %w", ErrNotRunning)
	for want, all := range map[bool][]error{
		true:  {ErrNotRunning, dispatch.ErrStopped, stopped, errors.Join(stopped, fmt.Errorf("schedule b: %w", dispatch.ErrStopped)), fmt.Errorf("the turn: %w", errors.Join(stopped, stopped))},
		false: {broken, errors.Join(stopped, broken), fmt.Errorf("the turn: %w", errors.Join(errors.Join(stopped, broken), stopped)), fmt.Errorf("%w (%w)", broken, ErrNotRunning)},
	} {
		for _, err := range all {
			if saysOnlyStop(err) != want {
				t.Errorf("%q says only that the engine stops: %v, want %v", err, !want, want)
			}
		}
	}
}
