package journal

import (
	"context"
	"sync"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB, cfg Config) *Backend {
	t.Helper()
	b, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
		dsn, schema := pgtest.Lend(t, "journal")
		cfg := Config{Store: postgres.Config{DSN: dsn, Schema: schema, Shards: opts.Shards}}
		b := open(t, cfg)
		checker := sync.OnceValue(func() *Backend { return open(t, cfg) }) // many cases need none
		return backendtest.Store{
			Backend:   b,
			Reopen:    func(t *testing.T) backend.Backend { return open(t, cfg) },
			Leftovers: func(ctx context.Context) (map[string]int, error) { return checker().Leftovers(ctx) },
		}
	})
}
