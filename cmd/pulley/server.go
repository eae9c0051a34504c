package main

import (
	"context"

	"pulley/engine/pgserver"
)

// serverFlags name a Postgres. Without one, a server is found or started.
type serverFlags struct {
	DSN string `name:"dsn" placeholder:"DSN" help:"The Postgres to use, such as postgres://user@host:5432/database. Without it: PULLEY_DSN; else a server is started that ends with the command."`
}

// open finds or starts a server and tells, through log, which. The caller closes it.
func (f *serverFlags) open(ctx context.Context, log func(string)) (*pgserver.Server, error) {
	server, err := pgserver.Open(ctx, pgserver.Options{DSN: f.DSN, Log: log})
	if err != nil {
		return nil, ended(ctx, err)
	}
	return server, nil
}
