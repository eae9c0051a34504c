// Package pgtest gives tests a real Postgres.
//
// Whoever runs the tests of all packages starts one server for them and names it in [ServerVariable]. In it stands a
// database that already holds the schema of every design, named in [TemplateVariable]; each test then works in a clone
// of that database, which goes when the test ends. A test binary that is run by itself finds no such server: it starts
// one of its own, on which each test has a schema of its own. A test that stops, starts or kills the server takes [Own].
// Where package depth leaves a test binary by itself, a test that asks for a server is skipped.
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

// The environment of a run of all packages.
const (
	// ServerVariable holds the connection string of the server that all packages share.
	ServerVariable = "PULLEY_TEST_SERVER"
	// TemplateVariable holds the name of the database, on that server, that tests clone.
	TemplateVariable = "PULLEY_TEST_TEMPLATE"
)

// Bounds of what is asked of the server on a machine with other work.
const (
	startWithin   = 4 * time.Minute
	commandWithin = 2 * time.Minute
)

// Settings are those of a server whose data nobody reads after a crash: nothing waits for the disk. The caller owns
// the map.
func Settings() map[string]string {
	return map[string]string{
		"fsync":              "off",
		"synchronous_commit": "on", // it is free without fsync, and a commit takes the same path
		"full_page_writes":   "off",
		"max_connections":    "500",
		"jit":                "off", // loading the compiler takes longer than any statement of a test
	}
}

// lazyServer is a server that is opened when the first test asks for it.
type lazyServer struct {
	once   sync.Once
	server *pgserver.Server
	err    error
}

var (
	shared, exclusive, undisturbed lazyServer
	serial                         atomic.Int64

	databasesMu sync.Mutex
	databases   = map[string]*database{} // by the name of the test that works in it
)

// database is the clone that one test works in.
type database struct {
	once  sync.Once
	dsn   string
	err   error
	inUse map[string]bool // designs whose schema of the template somebody has
}

// Main runs the tests of a binary and stops the servers that they started. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that goes on afterwards. It gives the exit status.
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

// open gives the server, or fails the test: a test that needs Postgres and does not get it has not passed.
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

// Server gives the server that the tests share. No test may stop it, or change its settings.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	if dsn := os.Getenv(ServerVariable); dsn != "" {
		return shared.open(t, pgserver.Options{DSN: dsn, Ways: []pgserver.Way{pgserver.WayDSN}})
	}
	return shared.open(t, pgserver.Options{Settings: Settings()})
}

// Exclusive gives a server that only this test binary uses. It is as durable as one of a user's, and may be stopped, started
// and killed; whoever does so leaves it running.
func Exclusive(t testing.TB) *pgserver.Server {
	t.Helper()
	return exclusive.open(t, pgserver.Options{Ways: []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}})
}

// Undisturbed gives a server that only this test binary uses, and that does next to nothing by itself: no vacuum, no images of
// pages in its log. What is counted there of a whole server is of the test, as long as no other runs beside it.
func Undisturbed(t testing.TB) *pgserver.Server {
	t.Helper()
	settings := Settings()
	settings["autovacuum"] = "off"
	return undisturbed.open(t, pgserver.Options{Settings: settings, Ways: []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}})
}

// DSN gives a connection string for the test: of a clone of the template where there is one, else of the server. A clone is
// dropped when the test ends, with whatever is still connected to it.
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

// databaseOf gives the database of a test, which may not be made yet.
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

// clone makes a database of the template, for as long as the test runs.
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

// cloneAs makes a database of the template, and gives what drops it.
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

// command has the server do something that is no part of a transaction.
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

// quote makes a name of the server's of a text.
func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// inDatabase gives the connection string of another database of the same server.
func inDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("%s must be a URL, so that its database can be exchanged", ServerVariable)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// Schema gives a name for a schema that no other test of the server uses.
func Schema(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("t%d_%d_%.30s", os.Getpid(), serial.Add(1), words(t.Name()))
}

// SchemaOf gives a name for a schema of a design, such as "push" or "pull:scan=app", in the database of DSN: for the first
// who asks, the one of the template, which stands already and is empty; for others, as where there is no template, a new one.
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

// TemplateSchema names the schema of a design in the template.
func TemplateSchema(design string) string { return "of_" + words(design) }

// words keeps what needs no quotes in SQL.
func words(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
}

// MakeTemplate makes the database of a name, has fill put the schemas of the designs into it, empties their tables, and
// closes it to everybody, since only a database that nobody uses can be cloned. fill must leave no connection behind.
// It gives the environment that a test binary needs to find the server and the template.
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

// emptyTables takes what opening a store left, such as the host that opened it, and keeps which migrations ran.
const emptyTables = `
DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 'of\_%' AND tablename <> 'migrations' LOOP
		EXECUTE format('TRUNCATE %I.%I RESTART IDENTITY CASCADE', r.schemaname, r.tablename);
	END LOOP;
END $$`
