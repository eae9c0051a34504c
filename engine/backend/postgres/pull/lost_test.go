package pull_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/backend/postgres/pull"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// cutsAtOnce is after how many cuts the open instances are finished: each scan reads them again.
const cutsAtOnce = 6

// TestLostCommit cuts each offer's completion at every message, with one of the two scans; at night with both.
func TestLostCommit(t *testing.T) {
	scans := []pull.Scan{pull.ScanApp, pull.ScanSQL}
	for i, name := range slices.Sorted(maps.Keys(designtest.Offers)) {
		offer := designtest.Offers[name]
		for _, scan := range depth.Of(scans[i%len(scans):][:1], scans) {
			t.Run(fmt.Sprintf("%s/%s", name, scan), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, alone(t, scan), scan)
				proxy, through := r.throughProxy(scan)
				cuts := 0
				for _, c := range designtest.OnceCuts {
					cuts += designtest.EveryMessage(t, proxy, c, 4, func(c pgtest.Cut) designtest.Trial {
						if c.K%cutsAtOnce == 0 {
							r.Finish()
						}
						b := through.warm(offer)
						return r.Offering(designtest.Offer{By: b, Open: offer(r.World)})
					})
				}
				t.Logf("%d cuts", cuts)
				r.Finish()
			})
		}
	}
}

type through struct {
	*pull.Backend
	r   *rig
	cfg pull.Config
}

func (r *rig) throughProxy(scan pull.Scan) (*pgtest.Proxy, *through) {
	r.Helper()
	proxy := pgtest.StartProxy(r, r.Cfg.DSN)
	cfg := r.Cfg
	cfg.DSN, cfg.Connections = proxy.DSN(), 2
	return proxy, &through{open(r, cfg, scan), r, pull.Config{Store: cfg, Scan: scan}}
}

func (th *through) reopen() {
	th.r.Helper()
	th.Close()
	th.Backend = open(th.r, th.cfg.Store, th.cfg.Scan)
}

func (th *through) warm(offer func(w *designtest.World) []backend.Completion) backend.Backend {
	th.r.Helper()
	if _, err := th.Complete(th.r.Ctx, 0, offer(th.r.World), th.r.grant); err != nil {
		th.reopen()
		if _, err := th.Complete(th.r.Ctx, 0, offer(th.r.World), th.r.grant); err != nil {
			th.r.Fatal(err)
		}
	}
	return th.Backend
}

func TestLostLeases(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		proxy, through := r.throughProxy(scan)
		r.LostLeases(proxy, pgtest.Cut{Mode: pgtest.CutBefore}, func() backend.Backend {
			b := through.warm(designtest.Offers["a step"])
			if depth.Night() {
				through.reopen()
				b = through.Backend
			}
			return b
		})
		r.Finish()
	})
}
