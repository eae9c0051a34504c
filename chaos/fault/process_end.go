package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"pulley/engine/pgserver/pgwire"
)

var processKill = Kind{
	Name: "process.kill",
	Doc:  "an engine's process is killed with SIGKILL, and started again",
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return kill(ctx, w.Engine(f.Engine), over)
	},
}

func kill(ctx context.Context, e Engine, over func()) error {
	if err := e.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing an engine: %w", err)
	}
	over()
	if err := ended(ctx, e); err != nil {
		return err
	}
	return e.Start(ctx)
}

var processEdge = Kind{
	Name:       "process.edge",
	Cooperates: true,
	Doc:        "an engine's process kills itself at its k-th statement edge, before or after a statement, and is started again",
	Nth:        true,
	Draw:       func(r *rand.Rand, _ Timing, f *Fault) { f.K = 1 + r.IntN(40) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		e := w.Engine(f.Engine)
		if err := e.Order(Order{Die: f.K}); err != nil {
			return err
		}
		timer := time.NewTimer(armedFor)
		defer timer.Stop()
		select {
		case <-e.Exited():
			over()
			return e.Start(ctx)
		case <-timer.C:
		case <-ctx.Done():
		}
		// It would otherwise die later.
		if err := kill(ctx, e, over); err != nil {
			return err
		}
		return fmt.Errorf("%w: statement edge %d was not reached within %v", ErrMissed, f.K, armedFor)
	},
}

var processStop = Kind{
	Name: "process.stop",
	Doc:  "an engine stops in an orderly way under load, and another process takes its place",
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		e := w.Engine(f.Engine)
		if err := e.Stop(ctx); err != nil {
			return err
		}
		over()
		return e.Start(ctx)
	},
}

var startWays = []Way{Before, Kill}

var processStart = Kind{
	Name:      "process.start",
	Doc:       "engines are killed and started again, and a start goes wrong: at each of its messages the connection ends, or the process is killed; then it is started once more",
	Unvisited: func(p *Places) []string { return p.Unvisited(true, startWays...) },
	Draw:      func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease, 2*t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		hold, cancel := context.WithTimeout(ctx, f.Hold())
		defer cancel()
		return everyEngine(ctx, w, func(i int) (count int, err error) {
			for happened := true; hold.Err() == nil && happened; {
				if happened, err = startAtNewPlace(ctx, w, i, over); err != nil {
					return count, err
				}
				if happened {
					count++
				}
			}
			return count, nil
		})
	},
}

// startAtNewPlace kills an engine, disturbs its start at the first message at which no start was disturbed, and starts it again.
func startAtNewPlace(ctx context.Context, w World, engine int, over func()) (happened bool, err error) {
	wire, e := w.Wire(engine), w.Engine(engine)
	if err := e.Signal(syscall.SIGKILL); err != nil {
		return false, fmt.Errorf("killing an engine: %w", err)
	}
	if err := ended(ctx, e); err != nil {
		return false, err
	}
	var mu sync.Mutex
	var way Way
	wire.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
		mu.Lock()
		defer mu.Unlock()
		if way != "" || s.place.Operation != Starting {
			return pass
		}
		if way = wire.ledger.Places.nextWay(s.place, startWays...); way == "" {
			return pass
		}
		if way == Kill && e.Signal(syscall.SIGKILL) != nil {
			way = Before // the message came from the previous process, which has exited
		}
		return pgwire.Verdict{End: pgwire.Close}
	})
	failed := e.Start(ctx)
	wire.set(nil)
	mu.Lock()
	defer mu.Unlock()
	switch {
	case way == "":
		return false, failed
	case way == Kill:
		if err := ended(ctx, e); err != nil {
			return false, err
		}
	}
	over()
	if failed != nil || way == Kill {
		return true, e.Start(ctx)
	}
	return true, nil
}

func ended(ctx context.Context, e Engine) error {
	select {
	case <-e.Exited():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("a killed engine has not ended: %w", context.Cause(ctx))
	}
}
