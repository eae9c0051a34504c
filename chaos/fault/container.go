package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"pulley/internal/pause"
)

var containerDisconnect = Kind{
	Name:   "container.disconnect",
	Doc:    "the server's container is taken off its network, so that nothing arrives or is refused, and put into it again, with another address",
	Lacks:  inServer.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: inServer.have(disconnectContainer),
}

func disconnectContainer(ctx context.Context, c Container, f Fault, over func()) error {
	if err := c.Disconnect(ctx); err != nil {
		return err
	}
	err := pause.For(ctx, f.Hold())
	err = errors.Join(err, c.Connect(context.WithoutCancel(ctx)))
	over()
	return err
}

var containerKill = Kind{
	Name:  "container.kill",
	Doc:   "the server's container is killed with SIGKILL, every process in it, and started again",
	Lacks: inServer.lacks,
	Inject: inServer.have(func(ctx context.Context, c Container, _ Fault, over func()) error {
		if err := c.Restart(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		over()
		return nil
	}),
}

var containerPause = Kind{
	Name:   "container.pause",
	Doc:    "every process of the server's container stands still for a while, up to longer than a lease",
	Lacks:  inServer.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: inServer.have(pauseContainer),
}

func pauseContainer(ctx context.Context, c Container, f Fault, over func()) error {
	if err := freeze(ctx, c); err != nil {
		return fmt.Errorf("%w: %w", ErrMissed, err)
	}
	err := pause.For(ctx, f.Hold())
	err = errors.Join(err, c.Unpause(context.WithoutCancel(ctx)))
	over()
	return err
}

// The kernel freezes the processes of a container one by one, and gives up where it is too busy: for seconds, if other programs have its
// processors.
const (
	freezeTries    = 4
	freezePauseMin = time.Second
)

// freeze pauses a container. After an error nothing in it is paused.
func freeze(ctx context.Context, c Container) error {
	for try := 0; ; try++ {
		err := c.Pause(ctx)
		if err == nil {
			return nil
		}
		_ = c.Unpause(context.WithoutCancel(ctx)) // fails if nothing was paused
		if try == freezeTries-1 || pause.For(ctx, freezePauseMin<<try) != nil {
			return err
		}
	}
}

// target selects the container that a fault hits.
type target func(w World, f Fault) (Container, error)

// inServer selects the server's container, inHost an engine's.
var (
	inServer target = func(w World, _ Fault) (Container, error) { return w.Container() }
	inHost   target = func(w World, f Fault) (Container, error) { return w.Host(f.Engine) }
)

// have makes an Inject that applies do to the container.
func (t target) have(do func(ctx context.Context, c Container, f Fault, over func()) error) func(context.Context, World, Fault, func()) error {
	return func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := t(w, f)
		if err != nil {
			return err
		}
		return do(ctx, c, f, over)
	}
}

// lacks says why a world has no such container; "": it has.
func (t target) lacks(w World) string {
	if _, err := t(w, Fault{}); err != nil {
		return err.Error()
	}
	return ""
}
