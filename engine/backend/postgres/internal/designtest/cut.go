package designtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// WarmCuts are the cuts of a connection in use. Lost messages of the client are cut after a message that arrived.
var WarmCuts = []pgtest.Cut{{Mode: pgtest.CutAfter, Client: true}, {Mode: pgtest.CutBefore}, {Mode: pgtest.CutBefore, Dead: true}}

// OnceCuts are the cuts for calls with many messages.
var OnceCuts = depth.Of(pgtest.OnceEach(), WarmCuts)

// Trial is a call that may be cut. Judge checks its result.
type Trial struct {
	Call  func() error
	Judge func(err error) error
}

const messagesMax = 1_000

// EveryMessage makes trials with the cut at the first message, the second, and so on, until a trial ends before its cut. It
// returns the number of cuts, and fails with fewer messages than least.
func EveryMessage(t testing.TB, p *pgtest.Proxy, c pgtest.Cut, least int, trial func(c pgtest.Cut) Trial) int {
	t.Helper()
	for c = c.At(1); c.K <= messagesMax; c = c.At(c.K + 1) {
		tr := trial(c)
		p.Set(c)
		err := tr.Call()
		fired := p.Unset()
		if err := tr.Judge(err); err != nil {
			t.Errorf("%s: %v", c, err)
		}
		switch {
		case fired:
			continue
		case err != nil:
			t.Fatalf("%s was not reached, and: %v", c, err)
		case c.K < least:
			t.Fatalf("inconclusive: %s was not reached", c)
		}
		return c.K - 1
	}
	t.Fatalf("%s: there is no end of messages", c)
	return 0
}

// Offer is a call that completes what nobody else does, and stale completions.
type Offer struct {
	By    backend.Backend
	Stale []backend.Completion // completed by others before
	Open  []backend.Completion
}

// Offering returns a trial of an offer.
func (w *World) Offering(o Offer) Trial {
	w.Helper()
	ids := instancesOf(o.Open)
	before := w.Dump(ids...)
	var out backend.Committed
	return Trial{
		Call: func() (err error) {
			out, err = o.By.Complete(w.Ctx, 0, slices.Concat(o.Stale, o.Open), backendtest.Granted(100))
			return err
		},
		Judge: func(err error) error {
			if err == nil {
				if err := o.judgeAnswers(out); err != nil {
					return err
				}
			} else if after := w.Dump(ids...); !backend.IsUnknown(err) && after != before {
				return fmt.Errorf("I8: something was changed by what failed: %w\nbefore\n%s\nafter\n%s", err, before, after)
			}
			return JudgeAgain(len(o.Open), err, w.Complete(o.Open...))
		},
	}
}

func (o *Offer) judgeAnswers(out backend.Committed) error {
	for i, got := range out.Outcomes {
		switch {
		case i < len(o.Stale) && got.Answer != backend.Stale:
			return fmt.Errorf("I3: what others had completed before is answered %s, want stale", got.Answer)
		case i >= len(o.Stale) && got.Answer != backend.Applied:
			return fmt.Errorf("I3: answered %+v; want all applied, nobody else completes them", out.Outcomes)
		}
	}
	return nil
}

// Offers return completions of new instances, which are all to be applied.
var Offers = map[string]func(w *World) []backend.Completion{
	"a step": func(w *World) []backend.Completion { return Ran(w.Launch(Sequence)[0]) },
	"opens a barrier": func(w *World) []backend.Completion {
		tasks := w.Launch(Joining)
		w.CompleteTasks(tasks[0])
		return Ran(tasks[1])
	},
	"ends an instance": func(w *World) []backend.Completion { return Ran(w.Launch(Alone)[0]) },
	"ends an instance that continued": func(w *World) []backend.Completion {
		return Ran(w.CompleteTasks(w.Launch(Sequence)[0]).Tasks...)
	},
	"begins another round": func(w *World) []backend.Completion {
		return Ran(w.CompleteTasks(w.Launch(Looping)[0]).Tasks...)
	},
	"calls siblings off": func(w *World) []backend.Completion { return Ran(FailureOf(w.Launch(CaughtTwice))) },
	"several": func(w *World) []backend.Completion {
		var cs []backend.Completion
		for _, wf := range depth.Of([]backendtest.Workflow{Joining, Sequence, Looping}, []backendtest.Workflow{Joining, Sequence, Alone, Looping, Fanned}) {
			cs = append(cs, Ran(w.Launch(wf)...)...)
		}
		return append(cs, Ran(FailureOf(w.Launch(CaughtTwice)))...)
	},
}

// FailureOf returns the first task whose action fails.
func FailureOf(tasks []backend.Task) backend.Task {
	return tasks[slices.IndexFunc(tasks, func(t backend.Task) bool { return t.Action == "fail" })]
}

// JudgeAgain checks the answers to n completions that are offered again after a call that returned err.
func JudgeAgain(n int, err error, again backend.Committed) error {
	answers := map[backend.Answer]int{}
	for _, o := range again.Outcomes {
		answers[o.Answer]++
	}
	switch {
	case err == nil && answers[backend.Stale] != n:
		return fmt.Errorf("I3: applied, and offered again: %v; want stale", answers)
	case err != nil && !backend.IsUnknown(err) && answers[backend.Applied] != n:
		return fmt.Errorf("I3: failed, and offered again: %v; want applied (%w)", answers, err)
	case answers[backend.Stale] != n && answers[backend.Applied] != n:
		return fmt.Errorf("torn: offered again: %v (%s)", answers, fmt.Sprint(err))
	}
	return nil
}

func instancesOf(cs []backend.Completion) []uuid.UUID {
	ids := make([]uuid.UUID, len(cs))
	for i, c := range cs {
		ids[i] = c.Lease.Key.Instance
	}
	return ids
}
