package journal

import (
	"testing"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB, cfg Config) *Backend {
	t.Helper()
	return designtest.Open(t, Open, cfg)
}

func TestConformance(t *testing.T) {
	designtest.Conformance(t, "journal", func(t testing.TB, cfg postgres.Config) *Backend { return open(t, Config{Store: cfg}) }, nil)
}
