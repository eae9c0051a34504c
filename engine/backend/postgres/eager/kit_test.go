package eager

import (
	"context"
	"testing"

	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB, cfg postgres.Config) *Backend {
	t.Helper()
	return designtest.Open(t, Open, Config{Store: cfg})
}

type world struct {
	*designtest.World
	b *Backend
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, designtest.SharedConfig(t, "eager", 1))
}

func worldIn(t *testing.T, cfg postgres.Config) *world {
	t.Helper()
	cfg.Connections = 4
	b := open(t, cfg)
	return &world{designtest.NewWorld(t, cfg, designtest.Design{
		Table: "node_ready_state", Leased: "q.is_queued AND NOT q.is_completed", Free: "is_queued = false, owner = NULL",
		Others: []string{"node_pending_context", "instance_eval_context"},
	}, b, b.store.Pool), b}
}

func TestConformance(t *testing.T) { designtest.Conformance(t, "eager", open, (*Backend).held) }

func (b *Backend) held(ctx context.Context) (map[string]int, error) {
	var nodes, pending, values, appended int
	err := b.store.Pool.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM node_ready_state), (SELECT count(*) FROM node_pending_context),
			(SELECT count(*) FROM instance_eval_context WHERE element < 0), (SELECT count(*) FROM instance_eval_context WHERE element >= 0)`).Scan(&nodes, &pending, &values, &appended)
	return map[string]int{"nodes": nodes, "pending": pending, "values": values, backendtest.Appended: appended}, err
}

func TestEndIsAnsweredBeforeTheCleanup(t *testing.T) {
	designtest.EndIsAnsweredBeforeTheCleanup(t, "node_ready_state", func(t testing.TB, cfg postgres.Config) (designtest.Backend, *pgstore.Store) {
		b := open(t, cfg)
		return b, b.store
	})
}

func TestUnsweptIsNotRenewed(t *testing.T) { newWorld(t).UnsweptIsNotRenewed() }

func TestOverdueComesFirst(t *testing.T) { newWorld(t).OverdueComesFirst() }
