package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgdial"
)

// minVersion is the oldest server that the designs run on.
const minVersion = 130000

// migrate creates the schema and runs new migrations in order, all in one transaction. An advisory lock serializes processes that
// start together. A schema that is up to date is only read: a role that may not change it can use it.
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
	all, err := listMigrations(base, design)
	if err != nil {
		return err
	}
	run, err := listRun(ctx, conn)
	if err != nil {
		return err
	}
	if err := refuseForeign(cfg.Schema, run, all); err != nil {
		return err
	}
	if len(run) < len(all) {
		if _, err := conn.Exec(ctx, "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT now())"); err != nil {
			return err
		}
	}
	for _, m := range all {
		if slices.Contains(run, m.name) {
			continue // a role that may only read can open the schema
		}
		if err := m.run(ctx, conn); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return insertStore(ctx, conn, cfg)
}

// insertStore stores the number of shards of a new schema.
func insertStore(ctx context.Context, conn pgx.Tx, cfg postgres.Config) error {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM store)").Scan(&there); err != nil || there {
		return err
	}
	shards := cfg.Shards
	if shards == 0 {
		shards = postgres.DefaultShards
	}
	_, err := conn.Exec(ctx, "INSERT INTO store (shards) VALUES ($1)", shards)
	return err
}

type migration struct {
	source fs.FS
	name   string
}

// listMigrations lists the migrations of each source, in order.
func listMigrations(sources ...fs.FS) (all []migration, err error) {
	for _, source := range sources {
		names, err := fs.Glob(source, "migrations/*.sql")
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			all = append(all, migration{source, name})
		}
	}
	return all, nil
}

// listRun lists the migrations that were run in the current schema.
func listRun(ctx context.Context, conn pgx.Tx) ([]string, error) {
	var there bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'migrations')").Scan(&there); err != nil || !there {
		return nil, err
	}
	rows, err := conn.Query(ctx, "SELECT name FROM migrations ORDER BY name")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// refuseForeign refuses a schema with a migration that this design does not have: it belongs to another design or a later
// version.
func refuseForeign(schema string, run []string, all []migration) error {
	for _, name := range run {
		if !slices.ContainsFunc(all, func(m migration) bool { return m.name == name }) {
			return fmt.Errorf("postgres: schema %s was set up by another backend or a later version (%s); name another schema", schema, name)
		}
	}
	return nil
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

// run does nothing if the migration was run.
func (m migration) run(ctx context.Context, conn pgx.Tx) error {
	text, err := fs.ReadFile(m.source, m.name)
	if err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, "INSERT INTO migrations (name) VALUES ($1) ON CONFLICT DO NOTHING", m.name)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	_, err = conn.Conn().PgConn().Exec(ctx, string(text)).ReadAll()
	return err
}
