package fault

import (
	"context"
	"math/rand/v2"
)

// processRepeat has completions delivered twice, and in another order.
var processRepeat = Kind{
	Name: "process.repeat",
	Doc:  "an engine's completions reach the store in another order than they were offered in, and again later, for a while",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = 20+r.IntN(80), between(r, t.Lease/4, t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return misbehave(ctx, w.Engine(f.Engine), Order{Repeat: f.K}, f, over)
	},
}
