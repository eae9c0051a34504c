package eager

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/pgserver/pgtest"
	"pulley/internal/depth"
)

// offers make completions on instances of their own, of which all are to be applied.
var offers = map[string]func(w *world) []backend.Completion{
	"a step": func(w *world) []backend.Completion {
		return []backend.Completion{backendtest.Ran(w.launch(sequence)[0])}
	},
	"opens a barrier": func(w *world) []backend.Completion {
		tasks := w.launch(joining)
		w.complete(backendtest.Ran(tasks[0]))
		return []backend.Completion{backendtest.Ran(tasks[1])}
	},
	"ends an instance": func(w *world) []backend.Completion { return []backend.Completion{backendtest.Ran(w.launch(alone)[0])} },
	"begins another round with the same row": func(w *world) []backend.Completion {
		return []backend.Completion{backendtest.Ran(w.complete(backendtest.Ran(w.launch(rounds)[0])).Tasks[0])}
	},
	"calls siblings off": func(w *world) []backend.Completion { return []backend.Completion{backendtest.Ran(w.launch(caught)[0])} },
	"several": func(w *world) []backend.Completion {
		var cs []backend.Completion
		for _, wf := range depth.Of([]backendtest.Workflow{joining, sequence, rounds}, []backendtest.Workflow{joining, sequence, alone, rounds, fanned}) {
			for _, task := range w.launch(wf) {
				cs = append(cs, backendtest.Ran(task))
			}
		}
		return append(cs, backendtest.Ran(w.launch(caught)[0]))
	},
}

// TestLostCommit cuts the connection at every message of a completion, and wants what is answered to be
// what happened, and everything to end as if nothing had (D7).
func TestLostCommit(t *testing.T) {
	for name, offer := range offers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			proxy := pgtest.StartProxy(t, w.cfg.DSN)
			cfg := w.cfg
			cfg.DSN, cfg.Connections = proxy.DSN(), 2
			through := open(t, cfg)
			through.sweeper.Close()
			through.sweeper.Close() // what it sends in the background would be counted, and cut, with a call's messages
			cuts := 0
			for _, c := range depth.Of(pgtest.OnceEach(), []pgtest.Cut{{Mode: pgtest.CutAfter, Client: true}, {Mode: pgtest.CutBefore}, {Mode: pgtest.CutBefore, Dead: true}}) {
				cuts += w.everyMessage(proxy, through, c, offer)
			}
			t.Logf("%d cuts", cuts)
			w.finish()
		})
	}
}

// everyMessage offers completions with the cut at the first message, the second, and so on, until they are
// answered before their cut is due.
func (w *world) everyMessage(proxy *pgtest.Proxy, through *Backend, c pgtest.Cut, offer func(w *world) []backend.Completion) int {
	w.Helper()
	for c = c.At(1); ; c = c.At(c.K + 1) {
		if _, err := through.Complete(w.ctx, 0, offer(w), backendtest.Granted(10)); err != nil { // a connection that was cut while nobody used it
			through.store.Pgx().Reset()
			if _, err := through.Complete(w.ctx, 0, offer(w), backendtest.Granted(10)); err != nil {
				w.Fatal(err)
			}
		}
		cs := offer(w)
		before := w.dump(instances(cs)...)
		proxy.Set(c)
		out, err := through.Complete(w.ctx, 0, cs, backendtest.Granted(10))
		fired := proxy.Unset()
		if err := w.judge(cs, before, out, err); err != nil {
			w.Errorf("%s: %v", c, err)
		}
		switch {
		case fired:
			continue
		case err != nil:
			w.Fatalf("%s was not reached, and: %v", c, err)
		case c.K < 4:
			w.Fatalf("inconclusive: %s was not reached", c)
		}
		return c.K - 1
	}
}

func instances(cs []backend.Completion) []uuid.UUID {
	var ids []uuid.UUID
	for _, c := range cs {
		ids = append(ids, c.Lease.Key.Instance)
	}
	return ids
}

// judge compares what was answered with what a second offer, by a connection that is not cut, is answered.
func (w *world) judge(cs []backend.Completion, before string, out backend.Committed, err error) error {
	first := map[backend.Answer]int{}
	for _, o := range out.Outcomes {
		first[o.Answer]++
	}
	if err == nil && first[backend.Applied] != len(cs) {
		return fmt.Errorf("I3: answered %s; want all applied, nobody else completes them", backendtest.Answers(out))
	}
	if after := w.dump(instances(cs)...); err != nil && !backend.IsUnknown(err) && after != before {
		return fmt.Errorf("I8: something was changed by what failed: %w\nbefore\n%s\nafter\n%s", err, before, after)
	}
	again := map[backend.Answer]int{}
	for _, o := range w.complete(cs...).Outcomes {
		again[o.Answer]++
	}
	switch {
	case err == nil && again[backend.Stale] != len(cs):
		return fmt.Errorf("I3: applied, and offered again: %v; want stale", again)
	case err != nil && !backend.IsUnknown(err) && again[backend.Applied] != len(cs):
		return fmt.Errorf("I3: failed, and offered again: %v; want applied (%w)", again, err)
	case again[backend.Stale] != len(cs) && again[backend.Applied] != len(cs):
		return fmt.Errorf("torn: offered again: %v (%s)", again, fmt.Sprint(err))
	}
	return nil
}

// TestLostLeases wants what a lost commit made ready to be claimable at once, and not when the leases are
// over of which nobody has heard.
func TestLostLeases(t *testing.T) {
	w := newWorld(t)
	proxy := pgtest.StartProxy(t, w.cfg.DSN)
	cfg := w.cfg
	cfg.DSN, cfg.Connections = proxy.DSN(), 2
	through := open(t, cfg)
	through.sweeper.Close()
	lost := 0
	for k := 1; ; k++ {
		w.complete(backendtest.Ran(w.launch(sequence)[0]))
		through.store.Pgx().Reset()
		task := w.launch(sequence)[0]
		proxy.Set(pgtest.Cut{K: k, Mode: pgtest.CutBefore, Fresh: true})
		out, err := through.Complete(w.ctx, 0, []backend.Completion{backendtest.Ran(task)}, backendtest.Granted(10))
		if !proxy.Unset() {
			break
		}
		if err != nil || len(out.Tasks) > 0 {
			continue
		}
		lost++
		claimed, err := w.b.Claim(w.ctx, 0, backendtest.Granted(10))
		if err != nil || !out.More || len(claimed.Tasks) != 1 || claimed.Tasks[0].Lease.Key.Instance != task.Lease.Key.Instance {
			t.Fatalf("cut at message %d: More is %t, and %d tasks are to be claimed (%v); want the one that was made ready", k, out.More, len(claimed.Tasks), err)
		}
	}
	if lost == 0 {
		t.Error("inconclusive: no commit was lost after it took place")
	}
	w.finish()
}
