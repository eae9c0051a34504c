package eager

import (
	"context"
	"sync"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver/pgtest"
)

func open(t testing.TB, cfg postgres.Config) *Backend {
	t.Helper()
	b, err := Open(context.Background(), Config{Store: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
		dsn, schema := pgtest.Lend(t, "eager")
		cfg := postgres.Config{DSN: dsn, Schema: schema, Shards: opts.Shards}
		b := open(t, cfg)
		checker := sync.OnceValue(func() *Backend { return open(t, cfg) }) // many cases need none
		return backendtest.Store{
			Backend:   b,
			Reopen:    func(t *testing.T) backend.Backend { return open(t, cfg) },
			Leftovers: func(ctx context.Context) (map[string]int, error) { return checker().Leftovers(ctx) },
			Held:      func(ctx context.Context) (map[string]int, error) { return checker().held(ctx) },
		}
	})
}

// held counts what is stored.
func (b *Backend) held(ctx context.Context) (map[string]int, error) {
	var nodes, pending, values, appended int
	err := b.store.Pool.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM node_ready_state), (SELECT count(*) FROM node_pending_context),
			(SELECT count(*) FROM instance_eval_context WHERE element < 0), (SELECT count(*) FROM instance_eval_context WHERE element >= 0)`).Scan(&nodes, &pending, &values, &appended)
	return map[string]int{"nodes": nodes, "pending": pending, "values": values, backendtest.Appended: appended}, err
}
