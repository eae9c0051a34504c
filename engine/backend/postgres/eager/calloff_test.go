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
				cs = append(cs, ran(tasks[i]))
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
				t.Errorf("%s, and %d tasks; want one applied, and the handler's", answers(out), len(out.Tasks))
			}
			if out = w.complete(ran(tasks[0]), ran(tasks[1]), ran(tasks[2])); answers(out) != "stale stale stale" {
				t.Errorf("offered again: %s; want stale", answers(out))
			}
			w.finish()
		})
	}
}

// TestCallOffRaces lets several processes complete the branches of spreads of which some fail, in small
// batches and at the same time: one error of each spread is caught, nobody waits in a circle (D5), and
// nothing is left of the others.
func TestCallOffRaces(t *testing.T) {
	wf := backendtest.Workflow{Name: "races", Input: `{}`, Want: `[["Bad"],["Bad"],["Bad"]]`, Source: `
fn branch(input: [i], output: [b]):
    a = @double(value=i)
    for k in range(2):
        a = @double(value=a)
    if i % 2 == 1:
        @fail(type="Bad", message="no")
    b = @double(value=a)

fn main(input: [], output: [all]):
    all = []
    for round in range(3):
        try:
            r = spread range(6):i -> branch(i=i)
        except Bad as e:
            r = [e["type"]]
        x = @echo(value=r)
        all = all + [x]
`}
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
