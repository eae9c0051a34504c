package pgtest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// schemaPool is schemas of the designs in one database, reused by the tests of a binary: their tables are empty, as in a new
// database, at a fraction of its cost.
type schemaPool struct {
	once sync.Once
	dsn  string
	drop func() error // nil: the database is the server's
	err  error

	mu    sync.Mutex
	conn  *pgx.Conn
	begun map[string]bool     // designs whose template schema was used
	free  map[string][]string // by design: unused schemas with empty tables
}

var schemas = &schemaPool{begun: map[string]bool{}, free: map[string][]string{}}

// SharedSchema returns a schema of a design and the connection string of its database, which the test shares with others. The
// schema may not exist yet; otherwise its tables are empty. It is the test's until the test has ended. Later cleanups of the
// test run before the schema is released, so that stores opened by it are closed by then.
//
// A test that changes the server's table statistics, or reads more than their differences, needs its own database.
func SharedSchema(t testing.TB, design string) (dsn, schema string) {
	t.Helper()
	l := schemas
	l.once.Do(func() { l.err = l.open(t) })
	if l.err != nil {
		t.Fatalf("no database of shared schemas: %v", l.err)
	}
	schema = l.acquire(t, design)
	t.Cleanup(func() {
		if err := l.release(design, schema, t.Failed()); err != nil {
			t.Errorf("giving schema %s back: %v", schema, err)
		}
	})
	return l.dsn, schema
}

func (l *schemaPool) open(t testing.TB) (err error) {
	s := Server(t)
	l.dsn = s.DSN()
	if template := os.Getenv(TemplateVariable); template != "" {
		if l.dsn, l.drop, err = cloneAs(s, Schema(t), template); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	l.conn, err = pgx.Connect(ctx, l.dsn)
	return err
}

func (l *schemaPool) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	err := l.conn.Close(ctx)
	if l.drop != nil {
		err = errors.Join(err, l.drop())
	}
	return err
}

func (l *schemaPool) acquire(t testing.TB, design string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := len(l.free[design]) - 1; last >= 0 {
		name := l.free[design][last]
		l.free[design] = l.free[design][:last]
		return name
	}
	if !l.begun[design] && os.Getenv(TemplateVariable) != "" {
		l.begun[design] = true
		return TemplateSchema(design)
	}
	return Schema(t)
}

// release empties a schema's tables, or drops the schema if the test has failed or added functions, such as those of triggers:
// designs have none.
func (l *schemaPool) release(design, name string, failed bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), commandWithin)
	defer cancel()
	var made, changed bool
	if err := l.conn.QueryRow(ctx, inspectSchema, name).Scan(&made, &changed); err != nil || !made {
		return err
	}
	if failed || changed {
		_, err := l.conn.Exec(ctx, "DROP SCHEMA "+quote(name)+" CASCADE")
		return err
	}
	if _, err := l.conn.Exec(ctx, "SELECT set_config('search_path', $1, false)", quote(name)); err != nil {
		return err
	}
	if _, err := l.conn.Exec(ctx, emptySchema); err != nil {
		return err
	}
	l.free[design] = append(l.free[design], name)
	return nil
}

const inspectSchema = `
SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
	EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1)`

// emptySchema deletes the rows, which for a few is much faster than truncating, and restarts sequences.
const emptySchema = `
DO $$
DECLARE r record;
BEGIN
	FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'migrations' LOOP
		EXECUTE format('DELETE FROM %I', r.tablename);
	END LOOP;
	PERFORM setval(format('%I', sequencename)::regclass, 1, false) FROM pg_sequences WHERE schemaname = current_schema();
END $$`
