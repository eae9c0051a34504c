package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"time"

	"pulley/internal/pause"
)

var processPause = Kind{
	Name: "process.pause",
	Doc:  "an engine's process stands still for longer than a lease (SIGSTOP), and continues as if nothing had been",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = beyondLease(r, t) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		e := w.Engine(f.Engine)
		if err := e.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		err := pause.For(ctx, f.Hold())
		err = errors.Join(err, e.Signal(syscall.SIGCONT))
		over()
		return err
	},
}

// beyondLease draws a duration longer than any lease.
func beyondLease(r *rand.Rand, t Timing) int { return between(r, 11*t.Lease/10, 2*t.Lease) }

var processSlow = Kind{
	Name:       "process.slow",
	Cooperates: true,
	Doc:        "every action of an engine takes longer for a while, up to longer than a lease",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = between(r, t.Lease/20, 5*t.Lease/4), between(r, t.Lease/4, t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return orderFault(ctx, w.Engine(f.Engine), Order{SlowMS: f.K}, f, over)
	},
}

// orderFault has an engine follow an order for the fault's duration. If the engine has had nothing to do in that time and so has
// not reported that it did, it gets armedFor more.
func orderFault(ctx context.Context, e Engine, o Order, f Fault, over func()) error {
	before := e.OrdersDone()
	if err := e.Order(o); err != nil {
		return err
	}
	err := pause.For(ctx, f.Hold())
	for end := time.Now().Add(armedFor); err == nil && e.OrdersDone() == before && time.Now().Before(end); {
		err = pause.For(ctx, time.Millisecond)
	}
	err = errors.Join(err, e.Order(Order{}))
	over()
	if err == nil && e.OrdersDone() == before {
		return ErrMissed
	}
	return err
}

// processClock makes an engine's clock jump. Go's readings include the monotonic clock, which no wall clock setting changes; here
// both jump, as on a machine that was suspended and reports it.
var processClock = Kind{
	Name:       "process.clock",
	Cooperates: true,
	Doc:        "the clock of an engine's process jumps ahead by up to two leases, back, behind, and back again",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = between(r, t.Lease/2, 2*t.Lease), between(r, t.Lease/2, 2*t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		half := f
		half.HoldMS /= 2
		for _, jump := range []int{f.K, -f.K} {
			if err := orderFault(ctx, w.Engine(f.Engine), Order{JumpMS: jump}, half, over); err != nil {
				return err
			}
		}
		return nil
	},
}

var processRepeat = Kind{
	Name:       "process.repeat",
	Cooperates: true,
	Doc:        "an engine's completions reach the store in another order than they were offered in, and again later, for a while",
	Draw: func(r *rand.Rand, t Timing, f *Fault) {
		f.K, f.HoldMS = 20+r.IntN(80), between(r, t.Lease/4, t.Lease)
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return orderFault(ctx, w.Engine(f.Engine), Order{Repeat: f.K}, f, over)
	},
}
