package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// processEdge has an engine kill itself just before or after a statement.
var processEdge = Kind{
	Name: "process.edge",
	Doc:  "an engine's process kills itself at its k-th statement edge, before or after a statement, and is started again",
	Nth:  true,
	Draw: func(r *rand.Rand, _ Timing, f *Fault) { f.K = 1 + r.IntN(40) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		e := w.Engine(f.Engine)
		if err := e.Order(Order{Die: f.K}); err != nil {
			return err
		}
		timer := time.NewTimer(armedFor)
		defer timer.Stop()
		select {
		case <-e.Gone():
			over()
			return e.Start(ctx)
		case <-timer.C:
		case <-ctx.Done():
		}
		// It would die some time later, unasked.
		if err := kill(ctx, e, over); err != nil {
			return err
		}
		return fmt.Errorf("%w: statement edge %d was not reached within %v", ErrMissed, f.K, armedFor)
	},
}
