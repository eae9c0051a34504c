package eager

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
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

// TestCalledOffBehindItsClaim calls runs off between their claim and the reading of what their arguments refer to, which has another
// value by then: nobody is to run them, least of all with that.
func TestCalledOffBehindItsClaim(t *testing.T) {
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "referring", Input: `{}`, Want: `["x",1]`, Source: `
fn main(input: [], output: [t, r]):
    try:
        t = "0123456789abcdef" * 80
        ys = spread range(3):i -> @fail(type="Bad", message=t)
    except Bad:
        t = "x"
        r = @echo(value=1)
`}
	out, err := w.b.Submit(w.ctx, []backend.Submission{w.instance(wf, wf.Program(t))}, backendtest.Granted(1))
	if err != nil || len(out.Tasks) != 1 {
		t.Fatalf("%d tasks, %v; want one", len(out.Tasks), err)
	}
	again := "UPDATE node_ready_state SET due_at = clock_timestamp() WHERE token > $1"
	if got := w.claim(func() {}); len(got) != 2 || len(got[0].Args) < 1280 {
		t.Fatalf("before anything is cancelled: %+v; want two", got)
	}
	w.exec(again, out.Tasks[0].Lease.Token)
	var handler []backend.Task
	if got := w.claim(func() { handler = w.complete(backendtest.Ran(out.Tasks[0])).Tasks }); len(got) != 0 {
		t.Errorf("behind it: %+v; want none", got)
	}
	w.complete(backendtest.Ran(handler[0]))
	w.finish()
}

// behindClaim reads the values of what was claimed, but does something before, once.
type behindClaim struct {
	postgres.Values
	do func()
}

func (v *behindClaim) Need(instance uuid.UUID, number int32, slots []plan.Slot) {
	v.do()
	v.do = func() {}
	v.Values.Need(instance, number, slots)
}

// claim claims for another, and does something between the claim and the reading of what its arguments refer to.
func (w *world) claim(between func()) []backend.Task {
	w.Helper()
	out, err := w.b.store.Claim(w.ctx, 0, backend.Grant{Owner: "another", Max: 10, Lease: time.Minute}, postgres.Claiming{
		Queue: runs, Owner: "another", Place: func(p *plan.Program, run graph.Run) graph.Path { return w.b.shape(p).run(run) }, Values: &behindClaim{&claimValues{}, between},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.Tasks
}
