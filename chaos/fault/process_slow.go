package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"pulley/internal/pause"
)

// processSlow makes an engine's workers slow.
var processSlow = Kind{
	Name: "process.slow",
	Doc:  "every action of an engine takes longer for a while, up to longer than a lease",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = between(r, t.Lease/20, 5*t.Lease/4), between(r, t.Lease/4, t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return misbehave(ctx, w.Engine(f.Engine), Order{SlowMS: f.K}, f, over)
	},
}

// misbehave has an engine follow an order for a time. It must say that it did: an engine that has nothing to do in that
// time is given more, armedFor.
func misbehave(ctx context.Context, e Engine, o Order, f Fault, over func()) error {
	before := e.Told()
	if err := e.Order(o); err != nil {
		return err
	}
	err := pause.For(ctx, f.Hold())
	for end := time.Now().Add(armedFor); err == nil && e.Told() == before && time.Now().Before(end); {
		err = pause.For(ctx, time.Millisecond)
	}
	err = errors.Join(err, e.Order(Order{}))
	over()
	if err == nil && e.Told() == before {
		return ErrMissed
	}
	return err
}
