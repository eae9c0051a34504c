package pgbouncer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/internal/depth"
	"pulley/internal/pgbouncer"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// way is a way to a server.
type way struct {
	name     string
	mode     string            // of the bouncer
	told     postgres.PoolMode // by the user
	prepared int
}

func ways() []way {
	return []way{
		{name: "session", mode: "session", told: postgres.PoolSession},
		{name: "transaction", mode: "transaction"},
		{name: "transaction,tracked", mode: "transaction", prepared: 200},
	}
}

// cell is a design behind a pooler.
type cell struct {
	way  way
	spec designs.Spec
}

func (c cell) String() string { return c.way.name + "/" + c.spec.String() }

// cells lists every design in every way at night. Otherwise every design is behind a pooler of transactions, and one in each
// other way.
func cells() (list []cell) {
	for i, w := range ways() {
		for j, spec := range designs.Durable() {
			if depth.Night() || w.name == "transaction" || i == j {
				list = append(list, cell{w, spec})
			}
		}
	}
	return list
}

// start starts a bouncer, or skips the test if this machine's tracks no statements and it is to.
func (w way) start(t testing.TB, dsn string, size int) *pgbouncer.Bouncer {
	t.Helper()
	depth.Needs(t, "PgBouncer")
	needProgram(t)
	if w.prepared > 0 {
		tracks, err := pgbouncer.TracksStatements(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !tracks {
			t.Skip("this needs PgBouncer 1.21, which keeps track of prepared statements")
		}
	}
	b, err := pgbouncer.Start(t.Context(), pgbouncer.Config{Server: dsn, Mode: w.mode, Size: size, Prepared: w.prepared})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// needProgram skips a test without PgBouncer; in CI the test fails.
func needProgram(t testing.TB) {
	t.Helper()
	_, err := pgbouncer.Program()
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

func databaseOf(t testing.TB, dsn string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Database
}

// TestWorkflows runs the programs of the suite of backends through a pooler: each construct of the language.
func TestWorkflows(t *testing.T) {
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := depth.Within(context.Background(), t, patience)
			defer cancel()
			dsn := pgtest.DSN(t)
			s := storeOf(t, c.spec, 2, designs.OpenOptions{
				DSN: c.way.start(t, dsn, 10).DSN(databaseOf(t, dsn)), PoolMode: c.way.told, Schema: pgtest.Schema(t), Connections: 3,
			})
			defer s.Backend.Close()
			all := backendtest.Workflows()
			subs := make([]backend.Submission, len(all))
			for i, wf := range all {
				subs[i] = backend.Submission{ID: uuid.New(), Program: wf.Program(t), Input: json.RawMessage(wf.Input)}
			}
			recorded, err := backendtest.Drive(ctx, s.Backend, subs, backendtest.DriveConfig{Workers: 3, Seed: 7})
			if err == nil {
				err = recorded.Check()
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, wf := range all {
				if err := wf.Expect(recorded.Instances[subs[i].ID]); err != nil {
					t.Errorf("%s: %v", wf.Name, err)
				}
			}
		})
	}
}

// TestConformance runs the whole suite of backends through a pooler.
func TestConformance(t *testing.T) {
	if !depth.Night() {
		t.Skip("the whole suite of every design in every way takes minutes: at night")
	}
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			dsn := pgtest.DSN(t)
			b := c.way.start(t, dsn, 60)
			backendtest.Run(t, func(t *testing.T, o backendtest.Options) backendtest.Store {
				return storeOf(t, c.spec, o.Shards, designs.OpenOptions{
					DSN: b.DSN(databaseOf(t, dsn)), DirectDSN: dsn, PoolMode: c.way.told, Schema: pgtest.Schema(t), Connections: 3,
				})
			})
		})
	}
}

func storeOf(t *testing.T, spec designs.Spec, shards int, o designs.OpenOptions) backendtest.Store {
	spec, err := designs.Parse(fmt.Sprintf("%s:shards=%d", spec, shards))
	if err != nil {
		t.Fatal(err)
	}
	t.Helper()
	open := func(t *testing.T) backend.Backend {
		t.Helper()
		b, err := spec.Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open(t)
	checker := open(t)
	t.Cleanup(checker.Close)
	inside := checker.(interface {
		Leftovers(ctx context.Context) (map[string]int, error)
	})
	return backendtest.Store{Backend: b, Reopen: open, Leftovers: inside.Leftovers}
}
