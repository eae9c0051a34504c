package fault

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"

	"pulley/internal/pause"
)

// processPause stops an engine for longer than its leases last.
var processPause = Kind{
	Name: "process.pause",
	Doc:  "an engine's process stands still for longer than a lease (SIGSTOP), and goes on as if nothing had been",
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

// beyondLease draws a time that no lease outlasts.
func beyondLease(r *rand.Rand, t Timing) int { return between(r, 11*t.Lease/10, 2*t.Lease) }
