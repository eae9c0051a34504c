package fault

import (
	"context"
	"math/rand/v2"

	"pulley/engine/pgserver/pgwire"
)

// wireSlice has messages arrive in pieces.
var wireSlice = Kind{
	Name: "wire.slice",
	Doc:  "every message between an engine and the server arrives in pieces of a few bytes for a while",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.Bytes, f.HoldMS = 1+r.IntN(64), between(r, t.Lease/10, t.Lease/2)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		err := w.Wire(f.Engine).during(ctx, func(*pgwire.Message, sight) pgwire.Verdict {
			return pgwire.Verdict{Deliver: true, Slice: f.Bytes}
		}, f.Hold())
		over()
		return err
	},
}
