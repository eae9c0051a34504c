package push

import (
	"context"
	"testing"
	"time"

	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgstore"
	"pulley/internal/pgtest"
)

// TestMain starts and stops the server that the tests use.
func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t testing.TB, cfg postgres.Config) *Backend {
	t.Helper()
	return designtest.Open(t, Open, Config{Store: cfg})
}

type world struct {
	*designtest.World
	direct  *Backend
	through *Backend
	proxy   *pgtest.Proxy
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldIn(t, designtest.SharedConfig(t, "push", 1))
}

func worldIn(t *testing.T, cfg postgres.Config) *world {
	t.Helper()
	cfg.Connections = 4
	direct := open(t, cfg)
	w := &world{World: designtest.NewWorld(t, cfg, designtest.Design{
		Table: "queue", Leased: "q.owner IS NOT NULL", Free: "owner = NULL", Others: []string{"readiness", "elements", "inbox"},
	}, direct, direct.store.Pool), direct: direct, proxy: pgtest.StartProxy(t, cfg.DSN)}
	cfg = w.cuttable()
	cfg.Connections = 2
	w.through = through(t, w.proxy, cfg)
	return w
}

func (w *world) cuttable() postgres.Config {
	cfg := w.Cfg
	cfg.Application = "cut " + cfg.Schema
	return cfg
}

func through(t testing.TB, p *pgtest.Proxy, cfg postgres.Config) *Backend {
	t.Helper()
	cfg.DSN = p.DSN()
	b := open(t, cfg)
	b.sweeper.Close() // its messages would be counted, and cut, with a call's
	return b
}

func (w *world) finish() {
	w.Helper()
	w.Finish()
	w.noLeak()
}

// noLeak checks that no connection stays in use, in the pool or on the server. The pool checks idle connections half a second
// after one was lost.
func (w *world) noLeak() {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		n := w.through.store.Pgx().Stat().AcquiredConns()
		if n == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-w.Ctx.Done():
			w.Fatalf("%d connections are still in use: %v", n, w.Ctx.Err())
		}
	}
	w.through.Close()
	w.SessionsEnd(w.cuttable().Application)
}

func TestConformance(t *testing.T) { designtest.Conformance(t, "push", open, (*Backend).held) }

// held counts what is stored. In the inbox, elements from 0 were appended.
func (b *Backend) held(ctx context.Context) (map[string]int, error) {
	var queue, readiness, elements, inbox, appended int
	err := b.store.Pool.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM queue), (SELECT count(*) FROM readiness), (SELECT count(*) FROM elements),
			count(*) FILTER (WHERE element < 0), count(*) FILTER (WHERE element >= 0)
		FROM inbox`).Scan(&queue, &readiness, &elements, &inbox, &appended)
	return map[string]int{"queue": queue, "readiness": readiness, "elements": elements, "inbox": inbox, backendtest.Appended: appended}, err
}

func TestEndIsAnsweredBeforeTheCleanup(t *testing.T) {
	designtest.EndIsAnsweredBeforeTheCleanup(t, "queue", func(t testing.TB, cfg postgres.Config) (designtest.Backend, *pgstore.Store) {
		b := open(t, cfg)
		return b, b.store
	})
}

func TestUnsweptIsNotRenewed(t *testing.T) { newWorld(t).UnsweptIsNotRenewed() }

func TestOverdueComesFirst(t *testing.T) { newWorld(t).OverdueComesFirst() }
