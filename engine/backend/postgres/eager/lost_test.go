package eager

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgtest"
)

// TestLostCommit cuts the connection at every message of a completion, and checks the answers and that everything ends as usual
// (D7).
func TestLostCommit(t *testing.T) {
	for name, offer := range designtest.Offers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			proxy, through := w.throughProxy()
			cuts := 0
			for _, c := range designtest.OnceCuts {
				cuts += designtest.EveryMessage(t, proxy, c, 4, func(pgtest.Cut) designtest.Trial {
					w.warm(through, offer)
					return w.Offering(designtest.Offer{By: through, Open: offer(w.World)})
				})
			}
			t.Logf("%d cuts", cuts)
			w.Finish()
		})
	}
}

func (w *world) throughProxy() (*pgtest.Proxy, *Backend) {
	w.Helper()
	proxy := pgtest.StartProxy(w, w.Cfg.DSN)
	cfg := w.Cfg
	cfg.DSN, cfg.Connections = proxy.DSN(), 2
	through := open(w, cfg)
	through.sweeper.Close() // its messages would be counted, and cut, with a call's
	return proxy, through
}

func (w *world) warm(through *Backend, offer func(w *designtest.World) []backend.Completion) {
	w.Helper()
	if _, err := through.Complete(w.Ctx, 0, offer(w.World), backendtest.Granted(10)); err != nil {
		through.store.Pgx().Reset()
		if _, err := through.Complete(w.Ctx, 0, offer(w.World), backendtest.Granted(10)); err != nil {
			w.Fatal(err)
		}
	}
}

func TestLostLeases(t *testing.T) {
	w := newWorld(t)
	proxy, through := w.throughProxy()
	w.LostLeases(proxy, pgtest.Cut{Mode: pgtest.CutBefore, Fresh: true}, func() backend.Backend {
		w.CompleteTasks(w.Launch(designtest.Sequence)[0])
		through.store.Pgx().Reset()
		return through
	})
	w.Finish()
}
