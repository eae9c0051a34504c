package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
)

// wireCut closes every connection of an engine at once.
var wireCut = Kind{
	Name: "wire.cut",
	Doc:  "every connection of an engine is closed",
	Inject: func(_ context.Context, w World, f Fault, over func()) error {
		return sever(w.Wire(f.Engine), false, over)
	},
}

func sever(w *Wire, reset bool, over func()) error {
	if w.proxy.Sever(reset) == 0 {
		return fmt.Errorf("%w: the engine had no connection", ErrMissed)
	}
	over()
	return nil
}

// wireReset resets every connection of an engine at once.
var wireReset = Kind{
	Name: "wire.reset",
	Doc:  "every connection of an engine is reset",
	Inject: func(_ context.Context, w World, f Fault, over func()) error {
		return sever(w.Wire(f.Engine), true, over)
	},
}

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
		if err := count.awaitFired(ctx, fmt.Sprintf("message %d", f.K)); err != nil {
			return err
		}
		over()
		return nil
	},
}

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
		var missesNotifications atomic.Uint64
		given := make(chan struct{})
		wire.set(func(m *pgwire.Message, s sight) pgwire.Verdict {
			if m.Client == f.Server {
				return pass
			}
			if count.hit() {
				missesNotifications.Store(s.conn)
			}
			if missesNotifications.Load() != s.conn {
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
		if err := count.awaitFired(ctx, fmt.Sprintf("message %d", f.K)); err != nil {
			return err
		}
		err := pause.For(ctx, f.Hold())
		over()
		return err
	},
}
