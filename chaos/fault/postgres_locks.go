package fault

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/lock.sql
var lockSQL string

// postgresLocks locks the store's tables, so that every statement waits until it gives up.
var postgresLocks = Kind{
	Name: "postgres.locks",
	Doc:  "every table of the store is locked for a while, and statements that wait for 50 ms fail with a lock timeout",
	Draw: func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return withDefault(ctx, w, "lock_timeout", "50ms", over, func(admin *pgx.Conn) error {
			tx, err := admin.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = tx.Exec(ctx, lockSQL)
			if err == nil {
				err = wait(ctx, f.Hold())
			}
			return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
		})
	},
}

var (
	//go:embed sql/note_default.sql
	noteDefaultSQL string
	//go:embed sql/set_default.sql
	setDefaultSQL string
)

// withDefault has a setting in force for new sessions while something is done. The sessions of the engines are
// ended before and after it, so that they have it, and lose it again.
func withDefault(ctx context.Context, w World, name, value string, over func(), do func(admin *pgx.Conn) error) error {
	admin, err := w.Admin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	if err := setDefault(ctx, admin, name, value); err != nil {
		return err
	}
	err = do(admin)
	err = errors.Join(err, setDefault(context.WithoutCancel(ctx), admin, name, ""))
	over()
	return err
}

func setDefault(ctx context.Context, admin *pgx.Conn, name, value string) error {
	if _, err := admin.Exec(ctx, noteDefaultSQL, name, value); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	if _, err := admin.Exec(ctx, setDefaultSQL); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	if _, err := admin.Exec(ctx, terminateSQL, Application); err != nil {
		return fmt.Errorf("ending sessions: %w", err)
	}
	return nil
}
