package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"pulley/internal/pause"
)

// containerPause has it happen to the container that the server is in.
var containerPause = Kind{
	Name:  "container.pause",
	Doc:   "every process of the server's container stands still for a while, up to longer than a lease",
	Lacks: noContainer,
	Draw:  func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Container()
		if err != nil {
			return err
		}
		return pauseContainer(ctx, c, f, over)
	},
}

// pauseContainer has a container stand still for a fault's time.
func pauseContainer(ctx context.Context, c Container, f Fault, over func()) error {
	if err := c.Pause(ctx); err != nil { // a kernel with much to do may not get all processes to stand still
		_ = c.Unpause(context.WithoutCancel(ctx)) // nothing is to stay paused; it fails where nothing was
		return fmt.Errorf("%w: %w", ErrMissed, err)
	}
	err := pause.For(ctx, f.Hold())
	err = errors.Join(err, c.Unpause(context.WithoutCancel(ctx)))
	over()
	return err
}

// noContainer says why a world has no container.
func noContainer(w World) string {
	if _, err := w.Container(); err != nil {
		return err.Error()
	}
	return ""
}
