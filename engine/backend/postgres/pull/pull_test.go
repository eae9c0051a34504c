package pull_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
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
				dsn, schema := pgtest.Lend(t, "pull:scan="+string(scan))
				cfg := postgres.Config{DSN: dsn, Schema: schema, Shards: opts.Shards}
				b := open(t, cfg, scan)
				checker := sync.OnceValue(func() *pull.Backend { return open(t, cfg, scan) }) // many cases need none
				return backendtest.Store{
					Backend:   b,
					Reopen:    func(t *testing.T) backend.Backend { return open(t, cfg, scan) },
					Leftovers: func(ctx context.Context) (map[string]int, error) { return checker().Leftovers(ctx) },
				}
			})
		})
	}
}

// TestScansDoNotMix wants a schema to be kept to one scan, and to one design.
func TestScansDoNotMix(t *testing.T) {
	cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t)}
	open(t, cfg, pull.ScanApp)
	if b, err := pull.Open(context.Background(), pull.Config{Store: cfg, Scan: pull.ScanSQL}); err == nil {
		b.Close()
		t.Error("a schema of scan=app is taken for scan=sql")
	} else if want := "pull: schema " + cfg.Schema + " was set up with scan=app, not scan=sql; use that, or another schema"; err.Error() != want {
		t.Errorf("%q\nwant %q", err, want)
	}
	if b, err := push.Open(context.Background(), push.Config{Store: cfg}); err == nil {
		b.Close()
		t.Error("a schema of pull is taken for push")
	} else if !strings.Contains(err.Error(), "was set up by another backend or a later version") {
		t.Error(err)
	}
}
