package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"pulley/engine/pgserver"
	"pulley/internal/pause"
)

var postgresRestart = serverStop("postgres.restart", "the server is restarted under load, in the fast way: sessions are ended, a checkpoint is written", pgserver.StopFast)

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

var postgresImmediate = serverStop("postgres.immediate", "the server is stopped at once, without a checkpoint, and recovers from its log", pgserver.StopImmediate)

var postgresKill = serverStop("postgres.kill", "the server's first process is killed with SIGKILL; it recovers from its log when it starts again", pgserver.StopKill)

// postgresPromote fails over to a standby that exists only for the fault. The standby is therefore made under load, the next one
// is made from the promoted server, and commits wait for none in between.
var postgresPromote = Kind{
	Name: "postgres.promote",
	Doc:  "the server gets a synchronous standby and, a while later, is killed with SIGKILL; the standby takes its place under the same address",
	Lacks: func(w World) string {
		if _, err := w.Standby(); err != nil {
			return err.Error()
		}
		return ""
	},
	Draw: upToLease,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		server, err := w.Standby()
		if err != nil {
			return err
		}
		if err := server.AddStandby(ctx); err != nil {
			return err
		}
		if err := pause.For(ctx, f.Hold()); err != nil {
			return errors.Join(err, server.RemoveStandby(context.WithoutCancel(ctx)))
		}
		if err := server.Promote(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("the standby of a killed server: %w", err)
		}
		over()
		return nil
	},
}
