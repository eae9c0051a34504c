package fault

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/terminate.sql
var terminateSQL string

// Application begins the application_name of every session of pulley's own engines in a world.
const Application = "pulley chaos"

// AdminApplication is the application_name of sessions that no fault hits, of a world that does not know the names of others.
const AdminApplication = "pulley admin"

// Scope says which sessions and tables of the world's database belong to the engines.
type Scope struct {
	Application string // begins their sessions' application_name; empty: all, but for AdminApplication
	Schemas     string // begins the names of their tables' schemas; empty: all
}

var postgresTerminate = Kind{
	Name:   "postgres.terminate",
	Doc:    "every session of the engines is ended with pg_terminate_backend; each counts",
	States: []string{"57P01"},
	Inject: func(ctx context.Context, w World, _ Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
		var ended int
		if err := admin.QueryRow(ctx, terminateSQL, w.Scope().Application, AdminApplication).Scan(&ended); err != nil {
			return fmt.Errorf("ending sessions: %w", err)
		}
		if ended == 0 {
			return fmt.Errorf("%w: the engines had no session", ErrMissed)
		}
		for range ended {
			over()
		}
		return nil
	},
}

const tooManyConnections = "53300"

const connectionsMax = 2000

var postgresConnections = Kind{
	Name:   "postgres.connections",
	Doc:    "the engines' sessions are ended, and for a while others have all connections of the server",
	States: []string{tooManyConnections},
	Draw:   upToLease,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		before, taken := w.Failed(), []*pgx.Conn{admin}
		defer func() {
			for _, conn := range taken {
				_ = conn.Close(context.WithoutCancel(ctx))
			}
			over()
		}()
		// Takes the free connections, then the engines', which may get some back in between.
		for range 3 {
			if taken, err = exhaust(ctx, w, taken); err != nil {
				return err
			}
			if _, err := admin.Exec(ctx, terminateSQL, w.Scope().Application, AdminApplication); err != nil {
				return fmt.Errorf("ending sessions: %w", err)
			}
		}
		if taken, err = exhaust(ctx, w, taken); err != nil {
			return err
		}
		return until(ctx, w, f, []string{tooManyConnections}, before, nil)
	},
}

func exhaust(ctx context.Context, w World, taken []*pgx.Conn) ([]*pgx.Conn, error) {
	for len(taken) < connectionsMax {
		conn, err := w.Admin(ctx)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			taken = append(taken, conn)
		case errors.As(err, &refused) && refused.Code == tooManyConnections:
			return taken, nil
		default:
			return taken, fmt.Errorf("taking connections: %w", err)
		}
	}
	return taken, fmt.Errorf("%w: the server has more than %d connections", ErrMissed, connectionsMax)
}

//go:embed sql/cancel.sql
var cancelSQL string

const queryCanceled = "57014"

// postgresCancel cancels statements, which fails them with the error of a statement timeout.
var postgresCancel = Kind{
	Name:   "postgres.cancel",
	Doc:    "for a while, statements of the engines that happen to run are canceled, as by a statement timeout",
	States: []string{queryCanceled},
	Draw:   upToLease,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
		before, canceled := w.Failed(), 0
		err = until(ctx, w, f, []string{queryCanceled}, before, func() error {
			var n int
			err := admin.QueryRow(ctx, cancelSQL, w.Scope().Application, AdminApplication).Scan(&n)
			canceled += n
			return err
		})
		if err != nil {
			return fmt.Errorf("canceling statements, %d until then: %w", canceled, err)
		}
		over()
		return nil
	},
}

var postgresSerializable = Kind{
	Name:   "postgres.serializable",
	Doc:    "for a while, transactions are serializable unless they say otherwise, so that those at once fail with serialization failures",
	States: []string{serializationFailure},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/2, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		before := w.Failed()
		return withDefault(ctx, w, "default_transaction_isolation", "serializable", over, func(*pgx.Conn) error {
			return until(ctx, w, f, []string{serializationFailure}, before, nil)
		})
	},
}

const serializationFailure = "40001"
