package fault

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/internal/pause"
)

//go:embed sql/deadlock.sql
var deadlockSQL string

// deadlockDetected is the server's code for it.
const deadlockDetected = "40P01"

// postgresDeadlocks has the engines' statements be the victims of deadlocks.
var postgresDeadlocks = Kind{
	Name:   "postgres.deadlocks",
	Doc:    "for a while another session locks tables of the store in other orders than the engines do, so that their statements end as victims of deadlocks",
	States: []string{deadlockDetected},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		before := w.Failed()[deadlockDetected]
		// The engines look for a circle while the other session still waits, and so are the victims.
		return withDefault(ctx, w, "deadlock_timeout", "50ms", over, func(admin *pgx.Conn) error {
			for end := time.Now().Add(f.Hold()); w.Failed()[deadlockDetected] == before || time.Now().Before(end); {
				if time.Now().After(end.Add(armedFor)) {
					return fmt.Errorf("%w: no statement failed with %s", ErrMissed, deadlockDetected)
				}
				if err := crossLocks(ctx, admin); err != nil {
					return err
				}
				if err := pause.For(ctx, 5*time.Millisecond); err != nil {
					return err
				}
			}
			return nil
		})
	},
}

// crossLocks takes locks once and lets go of them. It may be a victim itself.
func crossLocks(ctx context.Context, admin *pgx.Conn) error {
	_, err := admin.Exec(ctx, deadlockSQL)
	if err != nil && !isVictim(err) {
		return fmt.Errorf("locking tables: %w", err)
	}
	return nil
}

// isVictim says whether a statement was ended to end a deadlock.
func isVictim(err error) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) && failed.Code == deadlockDetected
}
