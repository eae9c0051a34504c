package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Connect opens one connection with the settings that a store's pool has, outside of any pool. The schema must have
// been set up. The caller closes it.
func Connect(ctx context.Context, cfg Config) (*pgx.Conn, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, pc.ConnConfig)
	if err == nil {
		err = registerArrays(ctx, conn)
	}
	return conn, Explain(err)
}
