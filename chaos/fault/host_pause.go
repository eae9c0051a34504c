package fault

import (
	"context"
	"math/rand/v2"
)

// hostPause has it happen to the container that an engine is in.
var hostPause = Kind{
	Name:  "host.pause",
	Doc:   "every process of an engine's container stands still for longer than a lease, and goes on as if nothing had been",
	Lacks: noHost,
	Draw:  func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = beyondLease(r, t) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Host(f.Engine)
		if err != nil {
			return err
		}
		return pauseContainer(ctx, c, f, over)
	},
}

// noHost says why a world has no containers for engines.
func noHost(w World) string {
	if _, err := w.Host(0); err != nil {
		return err.Error()
	}
	return ""
}
