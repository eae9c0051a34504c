package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
)

// PoolerFlags say what is between engines and their Postgres.
type PoolerFlags struct {
	PoolMode  string `name:"pool-mode" placeholder:"MODE" help:"What a pooler that the DSN leads through pools: none, session, transaction, or detect, which takes any pooler for one of transactions. Default: PULLEY_POOL_MODE; else detect."`
	DirectDSN string `name:"direct-dsn" placeholder:"DSN" help:"Reaches the same database past a pooler, for the connection on which notifications arrive. Default: PULLEY_DIRECT_DSN; without it, engines behind a pooler of transactions poll."`
}

// Apply sets the options of a backend.
func (f *PoolerFlags) Apply(o *designs.OpenOptions) error {
	mode, err := postgres.ParsePoolMode(cmp.Or(f.PoolMode, os.Getenv("PULLEY_POOL_MODE")))
	if err != nil {
		return fmt.Errorf("--pool-mode or PULLEY_POOL_MODE: %w", err)
	}
	o.PoolMode, o.DirectDSN = mode, cmp.Or(f.DirectDSN, os.Getenv("PULLEY_DIRECT_DSN"))
	return nil
}

// RefuseOwn refuses the flags for a server that was started for the command.
func (f *PoolerFlags) RefuseOwn() error {
	if f.PoolMode != "" || f.DirectDSN != "" {
		return errors.New("--pool-mode and --direct-dsn are for a database that a DSN names: give --dsn, or set PULLEY_DSN")
	}
	return nil
}

var errPooled = errors.New("the DSN leads through a pooler, and this command measures the server itself, in sessions that last: " +
	"give a DSN with the host and port of the server")

// ServerFlags name a Postgres. Without one, a server is found or started.
type ServerFlags struct {
	DSN string `name:"dsn" placeholder:"DSN" help:"The Postgres to use, such as postgres://user@host:5432/database. Without it: PULLEY_DSN; else a server is started that ends with the command."`
}

// Serve opens a server for measurements, and reports which. It refuses a pooler. closing ends a started server, and reports errors.
func (f *ServerFlags) Serve(ctx context.Context, c *Console) (server *pgserver.Server, closing func(), err error) {
	server, err = f.Open(ctx, "", func(line string) { c.Say("%s", line) })
	if err != nil {
		return nil, nil, err
	}
	if server.Pooled() {
		return nil, nil, errPooled // nothing was started
	}
	return server, func() {
		if err := server.Close(context.WithoutCancel(ctx)); err != nil {
			c.Say("pulley: ending the server: %v", err)
		}
	}, nil
}

// Open finds or starts a server and logs which. A user of the DSN who cannot create schemas can use the given one. The caller closes it.
func (f *ServerFlags) Open(ctx context.Context, schema string, log func(string)) (*pgserver.Server, error) {
	server, err := pgserver.Open(ctx, pgserver.Options{DSN: f.DSN, Schema: schema, Log: log})
	if err != nil {
		return nil, Ended(ctx, err)
	}
	return server, nil
}
