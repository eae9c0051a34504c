package fault

import (
	"context"
	"math/rand/v2"
)

// hostDisconnect has it happen to the container that an engine is in.
var hostDisconnect = Kind{
	Name:  "host.disconnect",
	Doc:   "an engine's container is taken off its network for longer than a lease, so that its connections hang, and put into it again, with the same address",
	Lacks: noHost,
	Draw:  func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = beyondLease(r, t) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Host(f.Engine)
		if err != nil {
			return err
		}
		return disconnectContainer(ctx, c, f, over)
	},
}
