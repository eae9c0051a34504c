package fault

import (
	"context"
	"errors"
	"math/rand/v2"

	"pulley/internal/pause"
)

// containerDisconnect has it happen to the container that the server is in.
var containerDisconnect = Kind{
	Name:  "container.disconnect",
	Doc:   "the server's container is taken off its network, so that nothing arrives or is refused, and put into it again, with another address",
	Lacks: noContainer,
	Draw:  func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Container()
		if err != nil {
			return err
		}
		return disconnectContainer(ctx, c, f, over)
	},
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
