package console

import (
	"context"

	"pulley/engine/pgserver"
)

// ServerFlags name a Postgres. Without one, a server is found or started.
type ServerFlags struct {
	DSN string `name:"dsn" placeholder:"DSN" help:"The Postgres to use, such as postgres://user@host:5432/database. Without it: PULLEY_DSN; else a server is started that ends with the command."`
}

// Serve opens a server, and reports which. closing ends a started server, and reports errors.
func (f *ServerFlags) Serve(ctx context.Context, c *Console) (server *pgserver.Server, closing func(), err error) {
	server, err = f.Open(ctx, func(line string) { c.Say("%s", line) })
	if err != nil {
		return nil, nil, err
	}
	return server, func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			c.Say("pulley: ending the server: %v", err)
		}
	}, nil
}

// Open finds or starts a server and logs which. The caller closes it.
func (f *ServerFlags) Open(ctx context.Context, log func(string)) (*pgserver.Server, error) {
	server, err := pgserver.Open(ctx, pgserver.Options{DSN: f.DSN, Log: log})
	if err != nil {
		return nil, Ended(ctx, err)
	}
	return server, nil
}
