package fault

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
)

// wireCommit loses the reply to an applied commit, so that the engine does not know its outcome.
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
		if err := count.awaitFired(ctx, fmt.Sprintf("commit %d", f.K)); err != nil {
			return err
		}
		over()
		return nil
	},
}

// wireCommits loses the replies to many commits; the engine must resolve each.
var wireCommits = Kind{
	Name: "wire.commits",
	Doc:  "for a while, the server's replies to commits of all engines that wrote something are lost again and again, and the connections with them",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.K, f.HoldMS = commitsGap, between(r, t.Lease, 2*t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		pace := newPacer(f.K)
		for i := range w.Engines() {
			wire := w.Wire(i)
			wire.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
				if !s.commit || !pace.due() {
					return pass
				}
				pace.went(over)
				return pgwire.Verdict{End: pgwire.Close}
			})
			defer wire.set(nil)
		}
		return pace.close(pause.For(ctx, f.Hold()))
	},
}

// commitsGap is the minimum time between two losses, in ms.
const commitsGap = 10
