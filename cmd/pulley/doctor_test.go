package main

import (
	"context"
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/cmd/pulley/console"
	"pulley/engine/pgserver"
	"pulley/internal/pgtest"
)

func TestDoctorOnAServer(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	got := call(t, nil, "doctor", "--dsn", dsn, "--format", "json")
	if got.code != 0 || got.err != "" {
		t.Fatalf("%+v", got)
	}
	var d diagnosis
	if err := json.Unmarshal([]byte(got.out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Takes == nil || *d.Takes != pgserver.WayDSN || len(d.Ways) != 1 {
		t.Fatalf("%s", got.out)
	}
	if f := d.Ways[0]; f.Way != pgserver.WayDSN || !f.Verified || f.Version < pgserver.MinVersion || f.Durability.Fsync == "" {
		t.Errorf("%+v", f)
	}
	wantParts(t, d.text(), "dsn       yes\n", "PostgreSQL", "fsync=", "takes     dsn\n")
}

// With a DSN no other way counts, for doctor as for the other commands.
func TestADSNThatDoesNotWork(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // nothing listens there now
		t.Fatal(err)
	}
	dsn := "postgres://somebody:s3cret@" + l.Addr().String() + "/db"
	got := call(t, nil, "doctor", "--dsn", dsn, "--quiet")
	if got.code != console.ExitFailed || got.err != "" || strings.Contains(got.out, "local") || strings.Contains(got.out, "docker") {
		t.Errorf("%+v; with a DSN no other way is looked at", got)
	}
	wantParts(t, got.out, "dsn       no\n", "takes     none")
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n")
	for _, c := range []struct {
		name, dsn string
		parts     []string
	}{
		{"nothing listens", dsn, []string{"pulley: ", l.Addr().String(), "start Postgres there"}},
		{"no host", "postgres://nowhere.invalid/db", []string{"nowhere.invalid"}},
		{"no DSN", "postgres://somebody:s3cret@host:port/db", []string{"the DSN cannot be read", "write postgres://"}},
		{"no database", withDatabase(t, pgtest.DSN(t), "nowhere"), []string{`no database "nowhere"`, "createdb"}},
		{"no rights", withUser(t, pgtest.DSN(t), newRole(t)), []string{"pulley_weak", "CREATE"}},
		{"no user", withUser(t, pgtest.DSN(t), "nobody_here"), []string{"nobody_here"}},
	} {
		got := call(t, nil, "run", prog, "--dsn", c.dsn, "--format", "json")
		if got.code != console.ExitUsage || got.out != "" || strings.Contains(got.err, "s3cret") {
			t.Errorf("%s: %+v", c.name, got)
		}
		wantLine(t, got.err, c.parts...)
	}
}

func newRole(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	role := "pulley_weak" + pgtest.Schema(t)
	if _, err := conn.Exec(t.Context(), "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := conn.Exec(context.Background(), "DROP ROLE "+pgx.Identifier{role}.Sanitize()); err != nil {
			t.Errorf("dropping the role: %v", err)
		}
	})
	return role
}

func withDatabase(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func withUser(t *testing.T, dsn, user string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("user")
	query.Del("password")
	u.User, u.RawQuery = url.User(user), query.Encode()
	return u.String()
}
