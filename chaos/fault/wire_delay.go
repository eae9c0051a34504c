package fault

import (
	"context"
	"math/rand/v2"
	"time"

	"pulley/engine/pgserver/pgwire"
)

// wireDelay makes every message of an engine late.
var wireDelay = Kind{
	Name: "wire.delay",
	Doc:  "every message between an engine and the server is late by some milliseconds for a while",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = 1+r.IntN(20), between(r, t.Lease/10, t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		err := w.Wire(f.Engine).during(ctx, func(m *pgwire.Message, _ sight) pgwire.Verdict {
			timer := time.NewTimer(time.Duration(f.K) * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-m.Done:
			}
			return pass
		}, f.Hold())
		over()
		return err
	},
}
