package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// tooManyConnections is the server's code for having none left.
const tooManyConnections = "53300"

// connectionsMost bounds how many are opened to exhaust a server.
const connectionsMost = 2000

// postgresConnections takes every connection that the server has, and the engines' too.
var postgresConnections = Kind{
	Name:   "postgres.connections",
	Doc:    "the engines' sessions are ended, and for a while others have all connections of the server",
	States: []string{tooManyConnections},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		admin, err := w.Admin(ctx)
		if err != nil {
			return err
		}
		before, taken := w.Failed()[tooManyConnections], []*pgx.Conn{admin}
		defer func() {
			for _, conn := range taken {
				_ = conn.Close(context.WithoutCancel(ctx))
			}
			over()
		}()
		// What is free is taken, then what the engines have; they may get some of it back meanwhile.
		for range 3 {
			if taken, err = exhaust(ctx, w, taken); err != nil {
				return err
			}
			if _, err := admin.Exec(ctx, terminateSQL, Application); err != nil {
				return fmt.Errorf("ending sessions: %w", err)
			}
		}
		if taken, err = exhaust(ctx, w, taken); err != nil {
			return err
		}
		return until(ctx, w, f, tooManyConnections, before)
	},
}

// exhaust opens connections until the server refuses one.
func exhaust(ctx context.Context, w World, taken []*pgx.Conn) ([]*pgx.Conn, error) {
	for len(taken) < connectionsMost {
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
	return taken, fmt.Errorf("%w: the server has more than %d connections", ErrMissed, connectionsMost)
}
