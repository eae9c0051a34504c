package main

import (
	"context"
	"fmt"
	"time"

	"github.com/iancoleman/strcase"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	v12 "go.temporal.io/server/schema/postgresql/v12"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/tools/common/schema"
	sqltool "go.temporal.io/server/tools/sql"
)

const (
	connectWithin   = 10 * time.Second
	connectionsIdle = time.Minute
	visibilityMost  = 2 // connections of a service to the tables of visibility

	clusterName = "active"
	namespace   = "pulley"
)

// part is one of the server's two stores: a schema of the adapter's database, with tables of a version.
type part struct {
	name, schema  string
	path, version string // in the server's module
}

var (
	statePart      = part{"state", "temporal", "postgresql/v12/temporal", v12.Version}
	visibilityPart = part{"visibility", "temporal_visibility", "postgresql/v12/visibility", v12.VisibilityVersion}
)

// createStore makes the tables and the namespace with the server's own tools.
func createStore(ctx context.Context, dsn string) error {
	if err := createSchemas(ctx, dsn); err != nil {
		return err
	}
	for _, p := range []part{statePart, visibilityPart} {
		if err := p.createTables(dsn); err != nil {
			return fmt.Errorf("making Temporal's tables of %s: %w", p.name, err)
		}
	}
	state, err := statePart.config(dsn, 1)
	if err != nil {
		return err
	}
	// The package is named for SQLite, and works on any store.
	n, err := sqlite.NewNamespaceConfig(clusterName, namespace, false, nil)
	if err != nil {
		return err
	}
	if err := sqlite.CreateNamespaces(state, n); err != nil {
		return fmt.Errorf("making Temporal's namespace: %w", err)
	}
	return nil
}

func createSchemas(ctx context.Context, dsn string) error {
	for _, p := range []part{statePart, visibilityPart} {
		if err := execute(ctx, dsn, "CREATE SCHEMA "+p.schema); err != nil {
			return err
		}
	}
	return nil
}

// leaveRings removes members that have left from the database. Otherwise a server that starts within 20 s looks for them, and all work waits
// until it gives them up.
func leaveRings(ctx context.Context, dsn string, ports []int32) error {
	return execute(ctx, dsn, "DELETE FROM "+statePart.schema+".cluster_membership WHERE rpc_address = $1 AND rpc_port = ANY($2)", host, ports)
}

func execute(ctx context.Context, dsn, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql, args...)
	return err
}

func (p part) createTables(dsn string) error {
	cfg, err := p.config(dsn, 1)
	if err != nil {
		return err
	}
	log := newLogger()
	conn, err := sqltool.NewConnection(cfg, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	return schema.NewSetupSchemaTask(conn, &schema.SetupConfig{SchemaName: p.path, InitialVersion: p.version}, log).Run()
}

// config is the server's configuration of the store. The server is given connections, since it would not take all of a DSN.
func (p part) config(dsn string, connections int) (*config.SQL, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.ConnectTimeout = connectWithin
	cfg.RuntimeParams["search_path"] = p.schema
	return &config.SQL{
		PluginName: postgresql.PluginNamePGX, DatabaseName: cfg.Database, ConnectAddr: "given", ConnectProtocol: "tcp", User: cfg.User,
		Connect: func(*config.SQL) (*sqlx.DB, error) {
			db := sqlx.NewDb(stdlib.OpenDB(*cfg), "pgx")
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
			db.SetConnMaxIdleTime(connectionsIdle)
			db.MapperFunc(strcase.ToSnake)
			return db, nil
		},
	}, nil
}
