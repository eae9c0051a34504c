package fault

import (
	"context"
	_ "embed"
	"fmt"
)

//go:embed sql/terminate.sql
var terminateSQL string

// Application begins the application_name of every session that faults may hit.
const Application = "pulley chaos"

// postgresTerminate ends the server's sessions.
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
		if err := admin.QueryRow(ctx, terminateSQL, Application).Scan(&ended); err != nil {
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
