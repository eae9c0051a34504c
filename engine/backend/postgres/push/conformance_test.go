package push

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
		dsn, schema := pgtest.Lend(t, "push")
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

// held counts what is stored. Of the inbox, what stands behind a value of its slot was appended to it.
func (b *Backend) held(ctx context.Context) (map[string]int, error) {
	var queue, readiness, elements, inbox, appended int
	err := b.store.Pool.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM queue), (SELECT count(*) FROM readiness), (SELECT count(*) FROM elements),
			count(*) FILTER (WHERE element < 0), count(*) FILTER (WHERE element >= 0)
		FROM inbox`).Scan(&queue, &readiness, &elements, &inbox, &appended)
	return map[string]int{"queue": queue, "readiness": readiness, "elements": elements, "inbox": inbox, backendtest.Appended: appended}, err
}
