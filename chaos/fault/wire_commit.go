package fault

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pulley/engine/pgserver/pgwire"
)

// wireCommit loses the reply to a commit: it took place, and the engine cannot know.
var wireCommit = Kind{
	Name: "wire.commit",
	Doc:  "the server's reply to the k-th commit of an engine that wrote something is lost, and the connection with it",
	Nth:  true,
	Draw: func(r *rand.Rand, _ Timing, f *Fault) { f.K = 1 + r.IntN(5) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		wire, count := w.Wire(f.Engine), newCounter(f.K)
		wire.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
			if !s.commit || !count.hit() {
				return pass
			}
			return pgwire.Verdict{End: pgwire.Close}
		})
		defer wire.set(nil)
		if err := count.await(ctx, fmt.Sprintf("commit %d", f.K)); err != nil {
			return err
		}
		over()
		return nil
	},
}
