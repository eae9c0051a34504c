package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/exists.sql
var existsSQL string

// Exists reports whether a design has set the schema up. It does not set it up.
func Exists(ctx context.Context, dsn, schema string) (there bool, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return false, Explain(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, existsSQL, pgx.QueryExecModeExec, schema).Scan(&there)
	return there, Explain(err)
}

// DropSchema removes a schema with all tables. It is for stores made for one run.
func DropSchema(ctx context.Context, dsn, schema string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return Explain(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE")
	return Explain(err)
}
