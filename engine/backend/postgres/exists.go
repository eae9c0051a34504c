package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/exists.sql
var existsSQL string

// Exists says whether a design has set the schema up, which Open would do.
func Exists(ctx context.Context, dsn, schema string) (there bool, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false, Explain(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, existsSQL, schema).Scan(&there)
	return there, Explain(err)
}
