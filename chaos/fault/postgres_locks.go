package fault

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/internal/pause"
)

//go:embed sql/lock.sql
var lockSQL string

// postgresLocks locks the store's tables until statements exceed the lock timeout; postgresTimeout does until they exceed the
// statement timeout.
var (
	postgresLocks = locks("postgres.locks", "lock_timeout", lockNotAvailable,
		"every table of the store is locked for a while, and statements that wait for 50 ms fail with a lock timeout")
	postgresTimeout = locks("postgres.timeout", "statement_timeout", queryCanceled,
		"every table of the store is locked for a while, and statements that take 50 ms fail with a statement timeout")
)

// locks makes a kind that locks every table of the store while a timeout setting makes statements fail with a state.
func locks(name, setting, state, doc string) Kind {
	return Kind{
		Name: name, Doc: doc, States: []string{state}, Draw: upToLease,
		Inject: func(ctx context.Context, w World, f Fault, over func()) error {
			before := w.Failed()
			return withDefault(ctx, w, setting, "50ms", over, func(admin *pgx.Conn) error {
				for try := 1; ; try++ {
					err := lockedOnce(ctx, w, f, admin, state, before)
					if !isDeadlockVictim(err) || try == lockTries {
						return err
					}
				}
			})
		},
	}
}

const lockNotAvailable = "55P03"

// lockTries is how often the tables are locked again if the fault's own session was a deadlock's victim: it locks them in another
// order than the engines.
const lockTries = 5

func lockedOnce(ctx context.Context, w World, f Fault, admin *pgx.Conn, state string, before map[string]int) error {
	tx, err := admin.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err = tx.Exec(ctx, lockSQL); err == nil {
		err = until(ctx, w, f, []string{state}, before, nil)
	}
	return errors.Join(err, tx.Rollback(context.WithoutCancel(ctx)))
}

var (
	//go:embed sql/note_default.sql
	noteDefaultSQL string
	//go:embed sql/set_default.sql
	setDefaultSQL string
)

// withDefault runs do while new sessions have a setting. It ends the engines' sessions before and after, so that they get and
// lose it.
func withDefault(ctx context.Context, w World, name, value string, over func(), do func(admin *pgx.Conn) error) error {
	admin, err := w.Admin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	if err := setDefault(ctx, w, admin, name, value); err != nil {
		return err
	}
	err = do(admin)
	err = errors.Join(err, setDefault(context.WithoutCancel(ctx), w, admin, name, ""))
	over()
	return err
}

func setDefault(ctx context.Context, w World, admin *pgx.Conn, name, value string) error {
	if _, err := admin.Exec(ctx, noteDefaultSQL, name, value, w.Scope().Schemas); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	if _, err := admin.Exec(ctx, setDefaultSQL); err != nil {
		return fmt.Errorf("setting %s: %w", name, err)
	}
	if _, err := admin.Exec(ctx, terminateSQL, w.Scope().Application, AdminApplication); err != nil {
		return fmt.Errorf("ending sessions: %w", err)
	}
	return nil
}

//go:embed sql/deadlock.sql
var deadlockSQL string

const deadlockDetected = "40P01"

var postgresDeadlocks = Kind{
	Name:   "postgres.deadlocks",
	Doc:    "for a while another session locks tables of the store in other orders than the engines do, so that their statements end as victims of deadlocks",
	States: []string{deadlockDetected},
	Draw:   upToLease,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		before := w.Failed()
		// The engines' sessions look for a deadlock while the other session still waits, so that they are the victims.
		return withDefault(ctx, w, "deadlock_timeout", "50ms", over, func(admin *pgx.Conn) error {
			return until(ctx, w, f, []string{deadlockDetected}, before, func() error {
				if err := crossLocks(ctx, admin); err != nil {
					return err
				}
				return pause.For(ctx, 4*time.Millisecond) // lets the engines lock the tables for a moment
			})
		})
	},
}

// crossLocks takes and releases locks once. It may be a victim itself.
func crossLocks(ctx context.Context, admin *pgx.Conn) error {
	_, err := admin.Exec(ctx, deadlockSQL)
	if err != nil && !isDeadlockVictim(err) {
		return fmt.Errorf("locking tables: %w", err)
	}
	return nil
}

func isDeadlockVictim(err error) bool {
	var failed *pgconn.PgError
	return errors.As(err, &failed) && failed.Code == deadlockDetected
}
