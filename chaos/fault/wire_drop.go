package fault

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pulley/engine/pgserver/pgwire"
)

// wireDrop ends a connection at its k-th message.
var wireDrop = Kind{
	Name: "wire.drop",
	Doc:  "the k-th message of a side, over all connections of an engine, is the last of its connection, or the first that is lost",
	Nth:  true,
	Draw: func(r *rand.Rand, _ Timing, f *Fault) {
		f.K, f.Server, f.Late = 1+r.IntN(60), r.IntN(2) == 0, r.IntN(2) == 0
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		wire, count := w.Wire(f.Engine), newCounter(f.K)
		wire.set(func(m *pgwire.Message, _ sight) pgwire.Verdict {
			if m.Client == f.Server || !count.hit() {
				return pass
			}
			return pgwire.Verdict{Deliver: f.Late, End: pgwire.Close}
		})
		defer wire.set(nil)
		if err := count.await(ctx, fmt.Sprintf("message %d", f.K)); err != nil {
			return err
		}
		over()
		return nil
	},
}
