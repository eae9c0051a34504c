package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
)

// wireSwallow makes a connection deaf in one direction: it stays open, and from the k-th message on nothing
// arrives. TCP does not lose one message of many.
var wireSwallow = Kind{
	Name: "wire.swallow",
	Doc:  "from the k-th message of a side on, its connection loses what that side says, and stays open until somebody gives up",
	Nth:  true,
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.Server, f.HoldMS = 1+r.IntN(60), r.IntN(2) == 0, between(r, t.Call/2, 3*t.Call/2)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		wire, count := w.Wire(f.Engine), newCounter(f.K)
		var deaf atomic.Uint64
		given := make(chan struct{})
		wire.set(func(m *pgwire.Message, s sight) pgwire.Verdict {
			if m.Client == f.Server {
				return pass
			}
			if count.hit() {
				deaf.Store(s.conn)
			}
			if deaf.Load() != s.conn {
				return pass
			}
			select { // nothing behind it arrives either
			case <-m.Done:
			case <-given:
			}
			return pgwire.Verdict{End: pgwire.Close}
		})
		defer wire.set(nil)
		defer close(given)
		if err := count.await(ctx, fmt.Sprintf("message %d", f.K)); err != nil {
			return err
		}
		err := pause.For(ctx, f.Hold())
		over()
		return err
	},
}
