package fault

import (
	"context"
	"math/rand/v2"
	"time"

	"pulley/engine/pgserver/pgwire"
)

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
