package eager

import (
	"slices"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

func TestCancelledInOneCall(t *testing.T) {
	for name, order := range map[string][]int{"all": {2, 0, 1}, "both that fail": {1, 0}, "offered twice": {1, 0, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			got := w.CancelledInOneCall(order)
			if answers := slices.Sorted(strings.FieldsSeq(got)); answers[0] != "applied" || slices.ContainsFunc(answers[1:], func(a string) bool { return a != "stale" }) {
				t.Errorf("%s; want one applied, and the others stale", got)
			}
			w.Finish()
		})
	}
}

func TestEndLooksForOthers(t *testing.T) {
	w := newWorld(t)
	w.EndLooksForOthers(w.b)
}

func TestCancelRaces(t *testing.T) {
	w := newWorld(t)
	w.Cfg.Application = w.Cfg.Schema
	var processes []backend.Backend
	for range 3 {
		processes = append(processes, open(t, w.Cfg))
	}
	w.CancelRaces(processes, func() {
		for _, b := range processes {
			b.Close()
		}
		w.SessionsEnd(w.Cfg.Schema)
		w.Finish()
	})
}

func TestCancelledAfterItsClaim(t *testing.T) {
	w := newWorld(t)
	w.CancelledAfterClaim(w.b.store, func(owner string) pgstore.Claiming {
		return pgstore.Claiming{
			Queue: runs, Owner: owner, Values: &claimValues{},
			Place: func(p *plan.Program, run graph.Run) graph.Path { return w.b.shape(p).run(run) },
		}
	})
}
