package eager

import (
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

// TestCalledOffInOneCall completes runs together of which one calls the others off: one takes place, and the
// handler runs once.
func TestCalledOffInOneCall(t *testing.T) {
	for name, order := range map[string][]int{"all": {2, 0, 1}, "both that fail": {1, 0}, "offered twice": {1, 0, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tasks := w.launch(caught)
			var cs []backend.Completion
			for _, i := range order {
				cs = append(cs, backendtest.Ran(tasks[i]))
			}
			out := w.complete(cs...)
			applied := 0
			for i, o := range out.Outcomes {
				if o.Answer == backend.Applied {
					applied++
				} else if o.Answer != backend.Stale {
					t.Errorf("completion %d is answered %s (%v)", i, o.Answer, o.Err)
				}
			}
			if applied != 1 || len(out.Tasks) != 1 || out.Tasks[0].Action != "double" {
				t.Errorf("%s, and %d tasks; want one applied, and the handler's", backendtest.Answers(out), len(out.Tasks))
			}
			if out = w.complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1]), backendtest.Ran(tasks[2])); backendtest.Answers(out) != "stale stale stale" {
				t.Errorf("offered again: %s; want stale", backendtest.Answers(out))
			}
			w.finish()
		})
	}
}

// TestCallOffRaces lets several processes complete the branches of spreads of which some fail, in small
// batches and at the same time: one error of each spread is caught, nobody waits in a circle (D5), and
// nothing is left of the others.
func TestCallOffRaces(t *testing.T) {
	wf := backendtest.Races
	w := newWorld(t)
	deadlocks := "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	before := w.number(deadlocks)
	w.cfg.Application = w.cfg.Schema
	var peers []backend.Backend
	for range 3 {
		peers = append(peers, open(t, w.cfg))
	}
	p := wf.Program(t)
	var subs []backend.Submission
	for range 30 {
		subs = append(subs, w.instance(wf, p))
	}
	rec, err := backendtest.Drive(w.ctx, peers[0], subs, backendtest.DriveConfig{Peers: peers[1:], Workers: 8, Max: 20, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	for _, b := range peers {
		b.Close()
	}
	w.counted()
	w.finish()
	if n := w.number(deadlocks) - before; n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}
