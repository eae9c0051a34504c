package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"pulley/internal/pause"
)

// containerDisconnect has it happen to the container that the server is in.
var containerDisconnect = Kind{
	Name:   "container.disconnect",
	Doc:    "the server's container is taken off its network, so that nothing arrives or is refused, and put into it again, with another address",
	Lacks:  inServer.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: inServer.have(disconnectContainer),
}

// disconnectContainer has a container be in no network for a fault's time.
func disconnectContainer(ctx context.Context, c Container, f Fault, over func()) error {
	if err := c.Disconnect(ctx); err != nil {
		return err
	}
	err := pause.For(ctx, f.Hold())
	err = errors.Join(err, c.Connect(context.WithoutCancel(ctx)))
	over()
	return err
}

// containerKill has it happen to the container that the server is in.
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

// containerPause has it happen to the container that the server is in.
var containerPause = Kind{
	Name:   "container.pause",
	Doc:    "every process of the server's container stands still for a while, up to longer than a lease",
	Lacks:  inServer.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: inServer.have(pauseContainer),
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

// target is the container that a fault hits.
type target func(w World, f Fault) (Container, error)

// inServer is the container that the server is in, inHost that of an engine.
var (
	inServer target = func(w World, _ Fault) (Container, error) { return w.Container() }
	inHost   target = func(w World, f Fault) (Container, error) { return w.Host(f.Engine) }
)

// have has something happen to the container.
func (t target) have(do func(ctx context.Context, c Container, f Fault, over func()) error) func(context.Context, World, Fault, func()) error {
	return func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := t(w, f)
		if err != nil {
			return err
		}
		return do(ctx, c, f, over)
	}
}

// lacks says why a world has no such container.
func (t target) lacks(w World) string {
	if _, err := t(w, Fault{}); err != nil {
		return err.Error()
	}
	return ""
}
