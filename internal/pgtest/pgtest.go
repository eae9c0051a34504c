// Package pgtest provides tests with a real Postgres.
//
// A run of all packages starts one server for them and names it in [ServerVariable]. On it, the database in [TemplateVariable]
// has the schema of every design; each test works in a clone of that database, which is dropped when the test ends. A test
// binary that runs alone starts its own server, on which each test has its own schema. A test that stops, starts or kills the
// server uses [Exclusive]. A test that needs a server is skipped if package depth excludes it.
package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver"
	"pulley/internal/depth"
)

const (
	// ServerVariable is the connection string of the server that all packages share.
	ServerVariable = "PULLEY_TEST_SERVER"
	// TemplateVariable is the name of the database on that server that tests clone.
	TemplateVariable = "PULLEY_TEST_TEMPLATE"
)

const (
	startWithin   = 4 * time.Minute
	commandWithin = 2 * time.Minute
)

// Settings are those of a server whose data nobody reads after a crash, without waits for the disk. The caller owns the map.
func Settings() map[string]string {
	return map[string]string{
		"fsync":              "off",
		"synchronous_commit": "on", // free without fsync, and commits have the same code path
		"full_page_writes":   "off",
		"max_connections":    "500",
		"jit":                "off", // loading the compiler takes longer than any test's statement
	}
}

type lazyServer struct {
	once   sync.Once
	server *pgserver.Server
	err    error
}

var (
	shared, exclusive, undisturbed lazyServer
	serial                         atomic.Int64

	databasesMu sync.Mutex
	databases   = map[string]*database{} // by test name
)

type database struct {
	once  sync.Once
	dsn   string
	err   error
	inUse map[string]bool // designs whose template schema is in use
}

// Main runs the tests of a binary and stops the servers that they started. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that continues afterwards. It returns the exit status.
func Run(m *testing.M) int {
	code := m.Run()
	if err := schemas.close(); err != nil {
		fmt.Fprintln(os.Stderr, "the database of shared schemas stays behind:", err)
		code = max(code, 1)
	}
	for _, k := range []*lazyServer{&shared, &exclusive, &undisturbed} {
		if k.server == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := k.server.Close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the test server:", err)
			code = max(code, 1)
		}
		cancel()
	}
	return code
}

// open returns the server, or fails the test: a test without the Postgres that it needs has not passed.
func (k *lazyServer) open(t testing.TB, o pgserver.Options) *pgserver.Server {
	t.Helper()
	depth.Needs(t, "a Postgres")
	k.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startWithin)
		defer cancel()
		o.StartTimeout = startWithin
		k.server, k.err = pgserver.Open(ctx, o)
	})
	if k.err != nil {
		t.Fatalf("no Postgres: %v", k.err)
	}
	return k.server
}

// Server returns the shared server. No test may stop it, or change its settings.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	if dsn := os.Getenv(ServerVariable); dsn != "" {
		return shared.open(t, pgserver.Options{DSN: dsn, Ways: []pgserver.Way{pgserver.WayDSN}})
	}
	return shared.open(t, pgserver.Options{Settings: Settings()})
}

// Exclusive returns a server for this test binary only. It is as durable as a user's, and may be stopped, started and killed; a
// test must leave it running.
func Exclusive(t testing.TB) *pgserver.Server {
	t.Helper()
	return exclusive.open(t, pgserver.Options{Ways: []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}})
}

// Undisturbed returns a server for this test binary only, without background activity: no vacuum, no page images in its log.
// Its server-wide counters are the test's, if no other test runs in parallel.
func Undisturbed(t testing.TB) *pgserver.Server {
	t.Helper()
	settings := Settings()
	settings["autovacuum"] = "off"
	return undisturbed.open(t, pgserver.Options{Settings: settings, Ways: []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}})
}

// DSN returns a connection string for the test: of a clone of the template if there is one, else of the server. A clone is
// dropped when the test ends, even with connections.
func DSN(t testing.TB) string {
	t.Helper()
	template := os.Getenv(TemplateVariable)
	if template == "" {
		return Server(t).DSN()
	}
	d := databaseOf(t)
	d.once.Do(func() { d.dsn, d.err = clone(t, template) })
	if d.err != nil {
		t.Fatalf("no database for the test: %v", d.err)
	}
	return d.dsn
}

func databaseOf(t testing.TB) *database {
	databasesMu.Lock()
	defer databasesMu.Unlock()
	d := databases[t.Name()]
	if d == nil {
		d = &database{inUse: map[string]bool{}}
		databases[t.Name()] = d
		t.Cleanup(func() {
			databasesMu.Lock()
			defer databasesMu.Unlock()
			delete(databases, t.Name())
		})
	}
	return d
}

func clone(t testing.TB, template string) (string, error) {
	dsn, drop, err := cloneAs(Server(t), Schema(t), template)
	if err != nil {
		return "", err
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Errorf("the test's database stays behind: %v", err)
		}
	})
	return dsn, nil
}

func cloneAs(s *pgserver.Server, name, template string) (dsn string, drop func() error, err error) {
	create := "CREATE DATABASE " + quote(name) + " TEMPLATE " + quote(template)
	if s.Version() >= 150000 {
		create += " STRATEGY file_copy" // without fsync, copying files is faster than logging them
	}
	if err := command(s.DSN(), create); err != nil {
		return "", nil, err
	}
	drop = func() error { return command(s.DSN(), "DROP DATABASE "+quote(name)+" WITH (FORCE)") }
	dsn, err = inDatabase(s.DSN(), name)
	return dsn, drop, err
}

func command(dsn, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err = conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func inDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("%s must be a URL, so that its database can be exchanged", ServerVariable)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Schema returns a schema name that no other test of the server uses.
func Schema(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("t%d_%d_%.30s", os.Getpid(), serial.Add(1), words(t.Name()))
}

// SchemaOf returns a schema name for a design, such as "push" or "pull:scan=app", in the database of DSN: at first the
// template's, which exists and is empty; later, or without a template, a new one.
func SchemaOf(t testing.TB, design string) string {
	t.Helper()
	if os.Getenv(TemplateVariable) == "" {
		return Schema(t)
	}
	d := databaseOf(t)
	databasesMu.Lock()
	defer databasesMu.Unlock()
	if d.inUse[design] {
		return Schema(t)
	}
	d.inUse[design] = true
	return TemplateSchema(design)
}

// TemplateSchema names a design's schema in the template.
func TemplateSchema(design string) string { return "of_" + words(design) }

func words(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
}

// MakeTemplate creates a database, lets fill create the designs' schemas in it, empties their tables, and closes it to
// connections, since only an unused database can be cloned. fill must leave no connection. It returns the environment by which
// a test binary finds the server and the template.
func MakeTemplate(ctx context.Context, s *pgserver.Server, name string, fill func(ctx context.Context, dsn string) error) (map[string]string, error) {
	if err := command(s.DSN(), "CREATE DATABASE "+quote(name)); err != nil {
		return nil, err
	}
	dsn, err := inDatabase(s.DSN(), name)
	if err != nil {
		return nil, err
	}
	if s.HasStatementStats() {
		if err := command(dsn, "CREATE EXTENSION pg_stat_statements"); err != nil {
			return nil, err
		}
	}
	if err := fill(ctx, dsn); err != nil {
		return nil, err
	}
	if err := command(dsn, emptyTables); err != nil {
		return nil, err
	}
	if err := command(s.DSN(), "ALTER DATABASE "+quote(name)+" ALLOW_CONNECTIONS false"); err != nil {
		return nil, err
	}
	return map[string]string{ServerVariable: s.DSN(), TemplateVariable: name}, nil
}

// emptyTables deletes what opening a store left, such as the host, and keeps which migrations ran.
const emptyTables = `
DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'of\_%' AND tablename <> 'migrations' LOOP
		EXECUTE format('TRUNCATE %I.%I RESTART IDENTITY CASCADE', r.schemaname, r.tablename);
	END LOOP;
END $$`
