package pgtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Reused are schemas of one design in one database, which tests use one after the other: a test finds its tables empty,
// as in a new one, and at a small part of the price. It is for tests that add nothing to a schema but rows.
type Reused struct {
	t      testing.TB
	design string
	dsn    string

	mu   sync.Mutex
	free []string // schemas that nobody uses, with empty tables
	conn *pgx.Conn
}

// Reuse makes schemas of a design that the subtests of t share.
func Reuse(t testing.TB, design string) *Reused {
	t.Helper()
	r := &Reused{t: t, design: design, dsn: DSN(t)}
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	var err error
	if r.conn, err = pgx.Connect(ctx, r.dsn); err != nil {
		t.Fatalf("no connection that empties schemas: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
		defer cancel()
		_ = r.conn.Close(ctx)
	})
	return r
}

// DSN gives a connection string for the database of the schemas.
func (r *Reused) DSN() string { return r.dsn }

// Schema gives a schema whose tables are empty, if there are any, and which is the test's own until that has ended.
// What the test cleans up from then on it cleans up before: stores that it opens are closed when others get the schema.
func (r *Reused) Schema(t testing.TB) string {
	t.Helper()
	name := r.take()
	t.Cleanup(func() {
		if t.Failed() {
			return // whoever looks into it finds what the test left, if the database stays
		}
		if err := r.giveBack(name); err != nil {
			t.Errorf("emptying schema %s: %v", name, err)
		}
	})
	return name
}

func (r *Reused) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.free) - 1; last >= 0 {
		name := r.free[last]
		r.free = r.free[:last]
		return name
	}
	return SchemaOf(r.t, r.design)
}

// giveBack empties the tables of a schema. Rows are deleted, which for a few of them takes a fraction of what it takes to
// truncate a table.
func (r *Reused) giveBack(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	rows, err := r.conn.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'", name)
	if err != nil {
		return err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var all strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&all, "DELETE FROM %s;\n", pgx.Identifier{name, table}.Sanitize())
	}
	if _, err := r.conn.Exec(ctx, all.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	r.free = append(r.free, name)
	return nil
}
