package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// TestRolesOfASchema has the owner make a schema, and checks that a role of pulley schema grants can do everything with its
// instances and nothing to its tables, and that a role which only reads, or the DSN of a standby, can only look.
func TestRolesOfASchema(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    xs = spread range(3):i -> @add(a=i, b=1)\n    x = @sum(values=xs)\n")
	for _, design := range designs.Durable() {
		if name := design.String(); !depth.Night() && name != "journal" && name != "pull:scan=sql" {
			continue // at night: those two have rows of their own in a new schema
		}
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			owner, schema := pgtest.DSN(t), pgtest.Schema(t)
			do := func(dsn string, args ...string) result {
				t.Helper()
				return call(t, nil, append(args, "--backend", design.String(), "--dsn", dsn, "--schema", schema)...)
			}
			works := func(got result) string {
				t.Helper()
				if got.code != 0 {
					t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
				}
				return strings.TrimSpace(got.out)
			}
			const made = "is at the version of this pulley, for backend "
			wantParts(t, works(do(owner, "schema", "migrate")), "schema "+schema+" "+made+design.String())
			worker, reader := roleOf(t, owner, schema, design, `wor"ker' $pulley$ %I \ `), roleOf(t, owner, schema, design, "reader", "--read-only")

			if got, want := strings.Join(strings.Fields(works(do(worker, "schema", "migrate", "--format", "json"))), ""), fmt.Sprintf(`{"schema":%q,"backend":%q}`, schema, design); got != want {
				t.Errorf("%s; want %s", got, want)
			}
			id := works(do(worker, "submit", prog))
			works(do(worker, "schedule", "add", "often", prog, "--every", "1h"))
			works(do(worker, "work", "--idle-exit", "1s"))
			if got := works(do(worker, "run", prog)); got != "completed: 6" {
				t.Errorf("pulley run: %s", got)
			}
			if got := works(do(worker, "wait", id)); got != "completed: 6" {
				t.Errorf("the instance: %s", got)
			}
			for _, sql := range []string{"CREATE TABLE more (x int)", "DROP TABLE instances", "ALTER TABLE instances ADD x int", "TRUNCATE instances", "CREATE INDEX ON instances (status)"} {
				if err := executed(t, worker, "SET search_path = "+pgx.Identifier{schema}.Sanitize()+"; "+sql); err == nil || !strings.Contains(err.Error(), "SQLSTATE 42501") {
					t.Errorf("%s: %v", sql, err)
				}
			}

			wantParts(t, works(do(reader, "ps")), id)
			wantParts(t, works(do(reader, "show", id)), "status     completed")
			wantParts(t, works(do(reader, "why", id)), "it completed at ")
			wantParts(t, works(do(reader, "schedule", "list")), "often")
			if got := works(do(reader, "wait", id)); got != "completed: 6" {
				t.Errorf("the instance: %s", got)
			}
			for _, args := range [][]string{{"submit", prog}, {"cancel", id}, {"purge", "--older", "1h"}, {"schedule", "rm", "often"}} {
				if got := do(reader, args...); got.code != console.ExitUsage || !strings.Contains(got.err, "permission denied") {
					t.Errorf("%q of a role that only reads: %+v", args, got)
				}
			}
			standby := standbyOf(t, owner)
			for _, args := range [][]string{{"ps"}, {"show", id}, {"why", id}, {"wait", id}, {"schedule", "list"}} {
				works(do(standby, args...))
			}
			for _, args := range [][]string{{"submit", prog}, {"cancel", id}, {"purge", "--older", "1h"}, {"schedule", "rm", "often"}, {"work"}} {
				if got := do(standby, args...); got.code != console.ExitUsage || !strings.Contains(got.err, "read-only") && !strings.Contains(got.err, "accepts no writes") {
					t.Errorf("%q of a server that takes no writes: %+v", args, got)
				}
			}
			works(do(worker, "purge", "--older", "1h"))
		})
	}
}

// roleOf makes a role by pulley schema grants, twice, and returns the DSN of a user with that role.
func roleOf(t *testing.T, owner, schema string, design designs.Spec, role string, more ...string) (dsn string) {
	t.Helper()
	role += strings.Join(strings.SplitN(schema, "_", 3)[:2], "_") // unique, and short
	sql := call(t, nil, append([]string{"schema", "grants", role, "--backend", design.String(), "--schema", schema}, more...)...)
	if sql.code != 0 || sql.err != "" {
		t.Fatalf("%+v", sql)
	}
	user := "user of " + role
	quotedRole, quotedUser := pgx.Identifier{role}.Sanitize(), pgx.Identifier{user}.Sanitize()
	t.Cleanup(func() {
		if err := executed(t, owner, "SELECT pg_advisory_lock(hashtext('pulley schema grants')); DROP OWNED BY "+quotedRole+"; DROP ROLE "+quotedUser+", "+quotedRole); err != nil {
			t.Error(err)
		}
	})
	for _, text := range []string{sql.out, sql.out, "CREATE ROLE " + quotedUser + " LOGIN PASSWORD 'x' IN ROLE " + quotedRole} {
		if err := executed(t, owner, text); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
	}
	return as(t, owner, user, "x")
}

// as returns a DSN of another user.
func as(t *testing.T, dsn, user, password string) string {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.UserPassword(user, password)
	rest := address.Query()
	rest.Del("user")
	rest.Del("password")
	address.RawQuery = rest.Encode()
	return address.String()
}

// standbyOf returns a DSN by which the server takes no writes, like a standby.
func standbyOf(t *testing.T, dsn string) string {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	rest := address.Query()
	rest.Set("options", "-c default_transaction_read_only=on")
	address.RawQuery = strings.ReplaceAll(rest.Encode(), "+", "%20")
	return address.String()
}

func executed(t *testing.T, dsn, sql string) error {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func TestSchemaIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"backend memory keeps nothing for another command":                         {"grants", "role", "--backend", "memory"},
		`the role "" is no name of Postgres; choose one of 1 to`:                   {"grants", ""},
		"Postgres would cut the name short":                                        {"grants", "role", "--schema", strings.Repeat("x", 64)},
		"say which database holds the instance: give --dsn DSN, or set PULLEY_DSN": {"migrate"},
		"--timeout 0s: choose a positive time":                                     {"migrate", "--dsn", "postgres://localhost/x", "--timeout", "0s"},
	} {
		got := call(t, nil, append([]string{"schema"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" || !strings.Contains(got.err, want) {
			t.Errorf("%q: %+v", args, got)
		}
	}
}
