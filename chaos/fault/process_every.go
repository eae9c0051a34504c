package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"pulley/engine/pgserver/pgwire"
)

// processEvery kills engines at messages at which none was killed, finally at each edge of each statement and more.
var processEvery = Kind{
	Name:      "process.every",
	Doc:       "engines are killed at every message of every kind of transaction that comes, started again, and so on",
	Unvisited: func(p *Places) []string { return p.Unvisited(false, Kill) },
	Draw:      func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease, 2*t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		hold, cancel := context.WithTimeout(ctx, f.Hold())
		defer cancel()
		return everyEngine(ctx, w, func(i int) (int, error) {
			count, err := killAtNewPlaces(ctx, hold, w, i, over)
			if err != nil || ctx.Err() != nil || i != f.Engine {
				return count, err
			}
			// If nothing new came in the whole time, the engine was never stopped; some messages occur only then.
			happened, err := newKilling(w, i).whileStopping(ctx, over)
			if happened {
				count++
			}
			return count, err
		})
	},
}

func everyEngine(ctx context.Context, w World, do func(engine int) (int, error)) error {
	errs, counts := make([]error, w.Engines()), make([]int, w.Engines())
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { counts[i], errs[i] = do(i) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if slices.Max(counts) == 0 && ctx.Err() == nil {
		return fmt.Errorf("%w: it has come to every message that came", ErrMissed)
	}
	return context.Cause(ctx)
}

// stopEvery is how often an engine that is to be killed is also stopped: each so many-th time.
const stopEvery = 4

func killAtNewPlaces(ctx, hold context.Context, w World, engine int, over func()) (count int, err error) {
	for turn := 1; hold.Err() == nil; turn++ {
		k := newKilling(w, engine)
		happened, err := false, error(nil)
		if turn%stopEvery == 0 {
			happened, err = k.whileStopping(ctx, over)
		} else {
			happened, err = k.before(ctx, hold, over)
		}
		if err != nil {
			return count, err
		}
		if happened {
			count++
		}
	}
	return count, nil
}

// killing kills an engine at the next place at which none was killed.
type killing struct {
	wire   *Wire
	engine Engine
	killed chan error

	mu    sync.Mutex
	spent bool // it has happened, or must not happen any more
	begun time.Time
}

// noNewPlace is how long a new place is awaited before used places are allowed again.
const noNewPlace = 100 * time.Millisecond

func newKilling(w World, engine int) *killing {
	k := &killing{wire: w.Wire(engine), engine: w.Engine(engine), killed: make(chan error, 1), begun: time.Now()}
	k.wire.set(k.judge)
	return k
}

func (k *killing) judge(_ *pgwire.Message, s sight) pgwire.Verdict {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.spent {
		return pass
	}
	if k.wire.ledger.Places.nextWay(s.place, Kill) == "" {
		if time.Since(k.begun) > noNewPlace {
			k.begun = time.Now()
			k.wire.ledger.Places.again(Kill)
		}
		return pass
	}
	k.spent = true
	k.killed <- k.engine.Signal(syscall.SIGKILL)
	return pgwire.Verdict{End: pgwire.Close}
}

// disarm prevents the killing and reports whether it has happened.
func (k *killing) disarm() bool {
	k.wire.set(nil)
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.spent
	k.spent = true
	return was
}

// before waits for the place until hold ends, and restarts a killed engine.
func (k *killing) before(ctx, hold context.Context, over func()) (happened bool, err error) {
	select {
	case err = <-k.killed:
		k.disarm()
	case <-hold.Done():
		if !k.disarm() {
			return false, nil
		}
		err = <-k.killed
	}
	if err != nil {
		return false, err
	}
	over()
	if err := ended(ctx, k.engine); err != nil {
		return false, err
	}
	return true, k.engine.Start(ctx)
}

// whileStopping stops the engine in an orderly way, so that it can be killed during that, too.
func (k *killing) whileStopping(ctx context.Context, over func()) (happened bool, err error) {
	stopped := k.engine.Stop(ctx)
	if k.disarm() {
		over()
		return true, k.engine.Start(ctx)
	}
	if stopped != nil {
		return false, stopped
	}
	return false, k.engine.Start(ctx)
}
