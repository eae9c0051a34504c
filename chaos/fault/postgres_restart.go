package fault

import (
	"context"
	"fmt"
	"math/rand/v2"

	"pulley/engine/pgserver"
	"pulley/internal/pause"
)

// postgresRestart restarts the server in an orderly way.
var postgresRestart = serverStop("postgres.restart", "the server is restarted under load, in the fast way: sessions are ended, a checkpoint is written", pgserver.StopFast)

// serverStop makes a kind that stops the server in a mode, and starts it again a little later.
func serverStop(name, doc string, mode pgserver.StopMode) Kind {
	return Kind{
		Name: name, Doc: doc,
		Lacks: func(w World) string {
			if w.Server() == nil {
				return "the server was not started from binaries, so it cannot be stopped"
			}
			return ""
		},
		Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, 0, t.Lease/2) },
		Inject: func(ctx context.Context, w World, f Fault, over func()) error {
			if err := w.Server().Stop(ctx, mode); err != nil {
				return fmt.Errorf("stopping the server: %w", err)
			}
			err := pause.For(ctx, f.Hold())
			if startErr := w.Server().Start(context.WithoutCancel(ctx)); startErr != nil {
				return fmt.Errorf("starting the server again: %w", startErr)
			}
			over()
			return err
		},
	}
}
