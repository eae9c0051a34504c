package fault

import (
	"context"
	"math/rand/v2"

	"pulley/engine/pgserver/pgwire"
)

// wireStall holds up everything between an engine and the server, and lets it go on later.
var wireStall = Kind{
	Name: "wire.stall",
	Doc:  "nothing passes between an engine and the server for a while, and then everything does",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/10, 3*t.Lease/2) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		release := make(chan struct{})
		err := w.Wire(f.Engine).during(ctx, func(m *pgwire.Message, _ sight) pgwire.Verdict {
			select {
			case <-release:
			case <-m.Done:
			}
			return pass
		}, f.Hold())
		close(release)
		over()
		return err
	},
}
