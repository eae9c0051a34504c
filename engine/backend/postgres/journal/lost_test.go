package journal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgtest"
)

type cutWorld struct {
	*world
	b     *Backend
	proxy *pgtest.Proxy
}

func newCutWorld(t *testing.T) *cutWorld {
	t.Helper()
	w := newWorld(t, 1)
	w.cfg.Lease = time.Minute // renewals are not cut
	c := &cutWorld{world: w, proxy: pgtest.StartProxy(t, w.cfg.Store.DSN)}
	cfg := w.cfg
	cfg.Store.DSN, cfg.Store.Connections = c.proxy.DSN(), 2
	c.b = open(t, cfg)
	return c
}

var scenes = []struct {
	name  string
	trial func(w *cutWorld) designtest.Trial
}{
	{"continues", func(w *cutWorld) designtest.Trial { return w.offering(ran(w.launch(w.b, sequence)[0])) }},
	{"opens a barrier", func(w *cutWorld) designtest.Trial {
		tasks := w.launch(w.b, joining)
		return w.offering(ran(tasks[0]), ran(tasks[1]))
	}},
	{"is tried again", func(w *cutWorld) designtest.Trial { return w.offering(ran(w.launch(w.b, flaky)[0])) }},
	{"ends", func(w *cutWorld) designtest.Trial { return w.offering(ran(w.launch(w.b, alone)[0])) }},
	{"fails", func(w *cutWorld) designtest.Trial { return w.offering(ran(w.launch(w.b, failing)[0])) }},
	{"continues and ends", func(w *cutWorld) designtest.Trial {
		return w.offering(ran(w.launch(w.b, sequence)[0]), ran(w.launch(w.b, alone)[0]))
	}},
	{"submission", func(w *cutWorld) designtest.Trial { return w.submitting() }},
	{"cancel", func(w *cutWorld) designtest.Trial { return w.canceling() }},
}

// TestLostCommit cuts the connection at every message of every kind of call. The answer must be what happened, and everything
// must end correctly.
func TestLostCommit(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newCutWorld(t)
			made := 0
			for _, c := range designtest.OnceCuts {
				made += w.everyMessage(c, func() designtest.Trial { return s.trial(w) })
			}
			t.Logf("%d cuts", made)
			w.b.Close()
			fresh := w.open()
			if _, err := fresh.store.Pool.Exec(w.ctx, "DELETE FROM leases"); err != nil { // their holders have exited
				t.Fatal(err)
			}
			w.finish(fresh)
		})
	}
}

func (w *cutWorld) everyMessage(c pgtest.Cut, trial func() designtest.Trial) int {
	w.Helper()
	return designtest.EveryMessage(w, w.proxy, c, 3, func(pgtest.Cut) designtest.Trial {
		w.warm()
		return trial()
	})
}

func (w *cutWorld) warm() {
	w.Helper()
	var err error
	for range 20 {
		if _, err = w.b.Claim(w.ctx, 0, granted(0)); err == nil {
			var one int
			if err = w.b.store.Pool.QueryRow(w.ctx, "SELECT 1").Scan(&one); err == nil {
				return
			}
		}
	}
	w.Fatalf("no call succeeds that is not cut: %v", err)
}

// judged makes a trial whose judge runs once calls succeed again.
func (w *cutWorld) judged(call func() error, judge func(err error) error) designtest.Trial {
	return designtest.Trial{Call: call, Judge: func(err error) error {
		w.warm()
		return judge(err)
	}}
}

func (w *cutWorld) offering(cs ...backend.Completion) designtest.Trial {
	return w.judged(func() error {
		out, err := w.b.Complete(w.ctx, 0, cs, granted(100))
		for _, o := range out.Outcomes {
			if err == nil && o.Answer != backend.Applied {
				return fmt.Errorf("I3: answered %+v; want all applied, nobody else completes them", out.Outcomes)
			}
		}
		return err
	}, func(err error) error {
		return designtest.JudgeAgain(len(cs), err, w.complete(w.b, cs...))
	})
}

func (w *cutWorld) submitting() designtest.Trial {
	ends := backendtest.Workflow{Name: "ends", Input: `{"n": 1}`, Want: `2`, Source: "fn main(input: [n], output: [x]):\n    x = n + 1\n"}
	subs := []backend.Submission{w.instance(alone, alone.Program(w)), w.instance(ends, ends.Program(w))}
	call := func() (backend.Committed, error) { return w.b.Submit(w.ctx, subs, granted(5)) }
	return w.judged(func() error {
		out, err := call()
		for _, o := range out.Outcomes {
			if err == nil && o.Answer != backend.Applied {
				return fmt.Errorf("answered %+v; want both applied", out.Outcomes)
			}
		}
		return err
	}, func(err error) error {
		out, failed := call()
		if failed != nil {
			return failed
		}
		a, b := out.Outcomes[0].Answer, out.Outcomes[1].Answer
		switch {
		case a != b:
			return fmt.Errorf("torn: submitted again, %s and %s", a, b)
		case err == nil && a != backend.Duplicate:
			return fmt.Errorf("I8: stored, and submitted again: %s", a)
		case err != nil && !backend.IsUnknown(err) && a != backend.Applied:
			return fmt.Errorf("failed, and submitted again: %s (%w)", a, err)
		}
		return nil
	})
}

func (w *cutWorld) canceling() designtest.Trial {
	w.launch(w.b, sequence)
	id := w.subs[len(w.subs)-1].ID
	w.subs = w.subs[:len(w.subs)-1] // a cancelled instance has no result
	delete(w.want, id)
	call := func() error {
		got, err := w.b.Cancel(w.ctx, []uuid.UUID{id}, "no more")
		if err == nil && got[0].Status != backend.Canceled {
			return fmt.Errorf("canceled, and it is %s", got[0].Status)
		}
		return err
	}
	return w.judged(call, func(err error) error {
		found, failed := w.b.Lookup(w.ctx, []uuid.UUID{id})
		if failed != nil {
			return failed
		}
		s := found[0].Status
		if err == nil && s != backend.Canceled || err != nil && !backend.IsUnknown(err) && s != backend.Running {
			return fmt.Errorf("%w, and the instance is %s", err, s)
		}
		return call()
	})
}

// TestLostHandOver cuts the connection at every message of a handover: the leases must hold, whichever answer is lost (I11).
func TestLostHandOver(t *testing.T) {
	cuts := append(slices.Clone(designtest.OnceCuts), pgtest.Cut{Mode: pgtest.CutBefore, Client: true, Dead: true})
	w := newCutWorld(t)
	tasks := w.launch(w.b, fanned)
	made := 0
	for _, c := range cuts {
		made += w.everyHandOver(c)
	}
	t.Logf("%d cuts", made)
	if out := w.complete(w.b, ran(tasks[0]), ran(tasks[1]), ran(tasks[2])); len(out.Ended) != 1 {
		t.Errorf("%+v; want the end", out)
	}
	w.finish(w.b)
}

func (w *cutWorld) everyHandOver(c pgtest.Cut) int {
	w.Helper()
	sh := w.b.shards[0]
	for c = c.At(1); c.K <= 60; c = c.At(c.K + 1) {
		w.warm()
		w.proxy.Set(c)
		<-sh.free
		_ = sh.release(w.ctx) // may be cut
		sh.unlock()
		first, _ := w.b.Claim(w.ctx, 0, granted(10))
		fired := w.proxy.Unset()
		w.warm()
		second, err := w.b.Claim(w.ctx, 0, granted(10))
		if n := len(first.Tasks) + len(second.Tasks); err != nil || n > 0 {
			w.Fatalf("%s: %d node runs were handed out that others hold (%v)", c, n, err)
		}
		if !fired {
			return c.K - 1
		}
	}
	w.Fatalf("%s: there is no end of messages", c)
	return 0
}
