package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"pulley/internal/pause"
)

// postgresPromote has the server fail over. The standby is there for the fault only: so it is made under load, the next
// one is made of the server that this one becomes, and nothing waits for it in between.
var postgresPromote = Kind{
	Name: "postgres.promote",
	Doc:  "the server gets a synchronous standby and, a while later, is killed with SIGKILL; the standby takes its place under the same address",
	Lacks: func(w World) string {
		if _, err := w.Standby(); err != nil {
			return err.Error()
		}
		return ""
	},
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		server, err := w.Standby()
		if err != nil {
			return err
		}
		if err := server.Follow(ctx); err != nil {
			return err
		}
		if err := pause.For(ctx, f.Hold()); err != nil {
			return errors.Join(err, server.Unfollow(context.WithoutCancel(ctx)))
		}
		if err := server.Promote(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("the standby of a killed server: %w", err)
		}
		over()
		return nil
	},
}
