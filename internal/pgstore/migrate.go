package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"sort"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgdial"
)

// minVersion is the oldest server that the designs run on.
const minVersion = 130000

// migrate creates the schema and runs new migrations in order, all in one transaction. An advisory lock serializes processes that
// start together.
func migrate(ctx context.Context, link *pgdial.Link, conn *pgx.Conn, cfg postgres.Config, design fs.FS) error {
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int", pgx.QueryExecModeSimpleProtocol).Scan(&version); err != nil {
		return err
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	lock := fnv.New64a()
	_, _ = lock.Write([]byte("pulley/" + cfg.Schema))
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := link.SetForMigration(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lock.Sum64())); err != nil {
			return err
		}
		return runMigrations(ctx, tx, cfg, design)
	})
}

// checkVersion refuses a server_version_num that is too old.
func checkVersion(number int) error {
	if number < minVersion {
		return fmt.Errorf("postgres: the server is version %d; %d or later is needed: upgrade it, or name another in the DSN", number/10000, minVersion/10000)
	}
	return nil
}

func runMigrations(ctx context.Context, conn pgx.Tx, cfg postgres.Config, design fs.FS) error {
	schema := pgx.Identifier{cfg.Schema}.Sanitize()
	if err := createSchema(ctx, conn, cfg.Schema); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "SELECT set_config('search_path', $1, true)", schema); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT now())"); err != nil {
		return err
	}
	var known []string
	for _, source := range []fs.FS{base, design} {
		names, err := fs.Glob(source, "migrations/*.sql")
		if err != nil {
			return err
		}
		known = append(known, names...)
	}
	if err := refuseForeign(ctx, conn, cfg.Schema, known); err != nil {
		return err
	}
	for _, source := range []fs.FS{base, design} {
		names, err := fs.Glob(source, "migrations/*.sql")
		if err != nil {
			return err
		}
		sort.Strings(names)
		for _, name := range names {
			if err := runMigration(ctx, conn, source, name); err != nil {
				return fmt.Errorf("migration %s: %w", name, err)
			}
		}
	}
	shards := cfg.Shards
	if shards == 0 {
		shards = postgres.DefaultShards
	}
	_, err := conn.Exec(ctx, "INSERT INTO store (shards) VALUES ($1) ON CONFLICT DO NOTHING", shards)
	return err
}

// refuseForeign refuses a schema with a migration that this design does not have: it belongs to another design or a later
// version.
func refuseForeign(ctx context.Context, conn pgx.Tx, schema string, known []string) error {
	var foreign string
	err := conn.QueryRow(ctx, "SELECT coalesce(min(name), '') FROM migrations WHERE name <> ALL ($1)", known).Scan(&foreign)
	if err != nil || foreign == "" {
		return err
	}
	return fmt.Errorf("postgres: schema %s was set up by another backend or a later version (%s); name another schema", schema, foreign)
}

// createSchema does nothing if the schema exists: the right to create one may be missing.
func createSchema(ctx context.Context, conn pgx.Tx, schema string) error {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", schema).Scan(&there); err != nil || there {
		return err
	}
	_, err := conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize())
	return err
}

func runMigration(ctx context.Context, conn pgx.Tx, source fs.FS, name string) error {
	text, err := fs.ReadFile(source, name)
	if err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, "INSERT INTO migrations (name) VALUES ($1) ON CONFLICT DO NOTHING", name)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	_, err = conn.Conn().PgConn().Exec(ctx, string(text)).ReadAll()
	return err
}
