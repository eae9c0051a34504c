package fault

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"time"
)

//go:embed sql/cancel.sql
var cancelSQL string

// postgresCancel has statements end as a statement timeout ends them, with the same error.
var postgresCancel = Kind{
	Name: "postgres.cancel",
	Doc:  "for a while, statements of the engines that happen to run are canceled, as by a statement timeout",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
		canceled := 0
		for end := time.Now().Add(f.Hold()); canceled == 0 || time.Now().Before(end); {
			var n int
			if err := admin.QueryRow(ctx, cancelSQL, Application).Scan(&n); err != nil {
				return fmt.Errorf("canceling statements: %w", err)
			}
			if canceled += n; canceled == 0 && time.Now().After(end.Add(armedFor)) {
				return fmt.Errorf("%w: no statement was seen running", ErrMissed)
			}
			if err := wait(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		over()
		return nil
	},
}
