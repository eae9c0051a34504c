package differ_test

import (
	"context"
	"testing"
	"time"

	"pulley/chaos/check/differ"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/pgserver/pgtest"
)

// design is a backend to hold against the reference.
type design struct {
	name     string
	programs int // of an ordinary test run
	soak     int // of make soak-language
	open     func(t testing.TB) differ.Store
}

// designs lists all backends. Each gets the programs of its own test.
func designs() []design {
	return []design{
		{"memory", 2_000, 50_000, onMemory},
		{"push", 200, 5_000, onPostgres(func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return push.Open(ctx, push.Config{Store: cfg})
		})},
		{"pull", 200, 5_000, onPostgres(func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return pull.Open(ctx, pull.Config{Store: cfg, Scan: pull.ScanApp})
		})},
		{"pull-sql", 200, 5_000, onPostgres(func(ctx context.Context, cfg postgres.Config) (postgresBackend, error) {
			return pull.Open(ctx, pull.Config{Store: cfg, Scan: pull.ScanSQL})
		})},
	}
}

// onMemory gives a store whose clock the case moves, and which can crash at every step.
func onMemory(testing.TB) differ.Store {
	now := time.Unix(1_000_000, 0)
	var crash func(string) error
	b := memory.New(memory.Options{
		Clock: func() time.Time { return now },
		Crash: func(point string) error {
			if crash == nil {
				return nil
			}
			return crash(point)
		},
		Jitter: func() float64 { return 0.5 },
	})
	return differ.Store{
		Backend:   b,
		Leftovers: b.Leftovers,
		Advance:   func(d time.Duration) { now = now.Add(d) },
		Crash:     func(f func(string) error) { crash = f },
	}
}

type postgresBackend interface {
	backend.Backend
	Leftovers(ctx context.Context) (map[string]int, error)
}

// onPostgres gives a store in a schema of its own.
func onPostgres(open func(context.Context, postgres.Config) (postgresBackend, error)) func(testing.TB) differ.Store {
	return func(t testing.TB) differ.Store {
		b, err := open(context.Background(), postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return differ.Store{Backend: b, Leftovers: b.Leftovers}
	}
}
