package pull_test

import (
	"context"
	"strings"
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/backend/postgres/push"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB, cfg postgres.Config, scan pull.Scan) *pull.Backend {
	t.Helper()
	return designtest.Open(t, pull.Open, pull.Config{Store: cfg, Scan: scan})
}

func TestConformance(t *testing.T) {
	for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
		t.Run(string(scan), func(t *testing.T) {
			designtest.Conformance(t, "pull:scan="+string(scan), func(t testing.TB, cfg postgres.Config) *pull.Backend { return open(t, cfg, scan) }, nil)
		})
	}
}

func TestUnsweptIsNotRenewed(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) { newRig(t, cfg, scan).UnsweptIsNotRenewed() })
}

func TestOverdueComesFirst(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) { newRig(t, cfg, scan).OverdueComesFirst() })
}

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
