package pull_test

import (
	"context"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/pgserver/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, cfg postgres.Config, scan pull.Scan) *pull.Backend {
	t.Helper()
	b, err := pull.Open(context.Background(), pull.Config{Store: cfg, Scan: scan})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestConformance(t *testing.T) {
	for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
		t.Run(string(scan), func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
				cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: opts.Shards}
				b := open(t, cfg, scan)
				checker := open(t, cfg, scan)
				return backendtest.Store{
					Backend:   b,
					Reopen:    func(t *testing.T) backend.Backend { return open(t, cfg, scan) },
					Leftovers: checker.Leftovers,
				}
			})
		})
	}
}
