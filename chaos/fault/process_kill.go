package fault

import (
	"context"
	"fmt"
	"syscall"
)

// processKill kills an engine.
var processKill = Kind{
	Name: "process.kill",
	Doc:  "an engine's process is killed with SIGKILL, and started again",
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return kill(ctx, w.Engine(f.Engine), over)
	},
}

// kill kills an engine, and starts it again.
func kill(ctx context.Context, e Engine, over func()) error {
	if err := e.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing an engine: %w", err)
	}
	over()
	select {
	case <-e.Gone():
	case <-ctx.Done():
		return fmt.Errorf("a killed engine has not ended: %w", context.Cause(ctx))
	}
	return e.Start(ctx)
}
