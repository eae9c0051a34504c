package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"

	"pulley/engine/pgserver/pgwire"
)

// processEvery kills an engine at messages at which none was killed before: in the end at each edge of each
// statement, and more.
var processEvery = Kind{
	Name: "process.every",
	Doc:  "an engine is killed at every message of every kind of transaction that comes, once before it and once after, and started again",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease, 2*t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		hold, cancel := context.WithTimeout(ctx, f.Hold())
		defer cancel()
		count := 0
		for hold.Err() == nil {
			happened, err := killAtNewPlace(ctx, hold, w, f.Engine, over)
			if err != nil {
				return err
			}
			if happened {
				count++
			}
		}
		if count == 0 && ctx.Err() == nil {
			return ErrMissed
		}
		return context.Cause(ctx)
	},
}

// killAtNewPlace kills an engine at the next place at which none was killed, if one comes before hold ends,
// and starts it again.
func killAtNewPlace(ctx, hold context.Context, w World, engine int, over func()) (happened bool, err error) {
	wire, e := w.Wire(engine), w.Engine(engine)
	var mu sync.Mutex
	spent := false // it happened, or must not any more
	killed := make(chan error, 1)
	wire.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if spent {
			return pass
		}
		way := wire.places.take(s.place, KillOn, KillOff)
		if way == "" {
			return pass
		}
		spent = true
		killed <- e.Signal(syscall.SIGKILL)
		return pgwire.Verdict{Deliver: way == KillOff, End: pgwire.Close}
	})
	defer wire.set(nil)
	select {
	case err = <-killed:
	case <-hold.Done():
		mu.Lock()
		late := spent
		spent = true
		mu.Unlock()
		if !late {
			return false, nil
		}
		err = <-killed
	}
	if err != nil {
		return false, err
	}
	over()
	wire.set(nil)
	select {
	case <-e.Gone():
	case <-ctx.Done():
		return false, fmt.Errorf("a killed engine has not ended: %w", context.Cause(ctx))
	}
	return true, e.Start(ctx)
}
