package inject

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"pulley/chaos/fault"
)

// Rehearse makes every kind of transaction happen without a lost message, in rounds: engines stop and start, and one is killed.
// Its work is taken over in recovered, which ends a round. A message that occurs rarely needs several rounds.
func Rehearse(ctx context.Context, w fault.World, rounds int, recovered func() error) error {
	for range rounds {
		for i := range w.Engines() {
			e := w.Engine(i)
			if err := e.Stop(ctx); err != nil {
				return err
			}
			if err := e.Start(ctx); err != nil {
				return err
			}
		}
		first := w.Engine(0)
		if err := first.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		select {
		case <-first.Exited():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := first.Start(ctx); err != nil {
			return err
		}
		if err := recovered(); err != nil {
			return err
		}
	}
	return nil
}

// Tour goes to every message of the baseline (fault.Places) with exhaustive faults, turn by turn.
type Tour struct {
	Kinds  []fault.Kind
	Most   time.Duration // no turn begins later
	HoldMS int           // of a fault of the shortest turns
	GapMS  int           // minimum time between two cuts

	// IdleMax is after how many turns that reached no new message the tour ends. Zero: it continues.
	IdleMax int

	// IsEnough reports whether the messages reached are enough. Nil: all must be.
	IsEnough func(fault.Coverage) bool
}

// holdsMax is the maximum duration of these faults in the shortest one, which varies by turns. Some messages occur only if engines
// and connections live for a while, others only if they do not.
const holdsMax = 3

// Visit repeats a tour's faults until each kind has been at every message of the baseline.
func (in *Injector) Visit(ctx context.Context, t Tour) error {
	places := in.Ledger.Places
	places.Only(true)
	defer places.Only(false)
	begun, left, idle := time.Now(), t.unvisited(places), 0
	for turn := 0; time.Since(begun) < t.Most && (t.IdleMax == 0 || idle < t.IdleMax); turn++ {
		ended := true
		for _, kind := range t.Kinds {
			if len(kind.Unvisited(places)) == 0 || t.IsEnough != nil && t.IsEnough(places.Coverage()) {
				continue
			}
			ended = false
			f := fault.Fault{Kind: kind.Name, Engine: turn % in.World.Engines(), HoldMS: t.HoldMS * (1 + turn%holdsMax), K: t.GapMS}
			if _, err := in.try(ctx, kind, f); err != nil {
				return fmt.Errorf("%s: %w", f, err)
			}
		}
		if ended {
			break
		}
		if now := t.unvisited(places); now < left {
			left, idle = now, 0
		} else {
			idle++
		}
	}
	return nil
}

// unvisited counts the messages that the kinds have not visited.
func (t Tour) unvisited(places *fault.Places) (n int) {
	for _, kind := range t.Kinds {
		n += len(kind.Unvisited(places))
	}
	return n
}
