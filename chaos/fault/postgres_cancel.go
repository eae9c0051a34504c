package fault

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"time"

	"pulley/internal/pause"
)

//go:embed sql/cancel.sql
var cancelSQL string

// queryCanceled is the server's code for a statement that was canceled, or ran out of its time.
const queryCanceled = "57014"

// postgresCancel has statements end as a statement timeout ends them, with the same error.
var postgresCancel = Kind{
	Name:   "postgres.cancel",
	Doc:    "for a while, statements of the engines that happen to run are canceled, as by a statement timeout",
	States: []string{queryCanceled},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
		before, canceled := w.Failed()[queryCanceled], 0
		for end := time.Now().Add(f.Hold()); w.Failed()[queryCanceled] == before || time.Now().Before(end); {
			var n int
			if err := admin.QueryRow(ctx, cancelSQL, Application).Scan(&n); err != nil {
				return fmt.Errorf("canceling statements: %w", err)
			}
			if canceled += n; time.Now().After(end.Add(armedFor)) {
				return fmt.Errorf("%w: %d statements were canceled, and none failed by that", ErrMissed, canceled)
			}
			if err := pause.For(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		over()
		return nil
	},
}
