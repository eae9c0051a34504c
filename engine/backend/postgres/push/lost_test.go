package push

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

type scene struct {
	name  string
	cuts  []pgtest.Cut
	trial func(w *world) designtest.Trial
}

// allCuts are the cuts of a connection in use, and of a new one.
var allCuts = append([]pgtest.Cut{{Mode: pgtest.CutBefore, Client: true, Fresh: true}, {Mode: pgtest.CutBefore, Fresh: true}}, designtest.WarmCuts...)

func TestLostCommit(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cuts := 0
			for _, c := range s.cuts {
				cuts += designtest.EveryMessage(t, w.proxy, c, 4, func(c pgtest.Cut) designtest.Trial {
					if c.Fresh {
						w.through.store.Pgx().Reset()
					} else {
						w.warm(s)
					}
					return s.trial(w)
				})
			}
			t.Logf("%d cuts", cuts)
			w.finish()
		})
	}
}

// warm makes uncut calls until one succeeds: the first may meet a connection that was cut while idle.
func (w *world) warm(s scene) {
	w.Helper()
	for range 5 {
		if s.trial(w).Call() == nil {
			return
		}
	}
	w.Fatal("no call succeeds that is not cut")
}

func (w *world) offering(cs ...backend.Completion) designtest.Trial {
	return w.besideStale(nil, cs...)
}

func (w *world) besideStale(stale []backend.Completion, open ...backend.Completion) designtest.Trial {
	tr := w.Offering(designtest.Offer{By: w.through, Stale: stale, Open: open})
	judge := tr.Judge
	tr.Judge = func(err error) error {
		if n := w.undone(open); err == nil && n > 0 {
			return fmt.Errorf("I8: applied, and %d of %d are to be done again", n, len(open))
		}
		if err := judge(err); err != nil {
			return err
		}
		if n := w.stuck(open); n > 0 {
			return fmt.Errorf("I9: %d instances continue, and nothing of them is queued", n)
		}
		return nil
	}
	return tr
}

func (w *world) undone(cs []backend.Completion) (n int64) {
	w.Helper()
	for _, c := range cs {
		key := c.Lease.Key
		n += w.Number("SELECT count(*) FROM queue WHERE instance_id = $1 AND node = $2 AND path = $3 AND attempt = $4",
			key.Instance, key.Run.Node, string(key.Run.Path), c.Attempt)
	}
	return n
}

func (w *world) stuck(cs []backend.Completion) int64 {
	w.Helper()
	var ids []uuid.UUID
	for _, c := range cs {
		ids = append(ids, c.Lease.Key.Instance)
	}
	return w.Number(`
		SELECT count(*) FROM instances i WHERE i.id = ANY ($1) AND i.status = 'running'
			AND NOT EXISTS (SELECT FROM queue q WHERE q.shard = i.shard AND q.instance_id = i.id)`, ids)
}

var retried = backendtest.Workflow{Name: "retried", Input: `{}`, Want: `2`, Source: `
fn main(input: [], output: [r]):
    r = @flaky(times=1) [retry: 5, backoff: 1ms]
`}

func scenes() []scene {
	return []scene{
		{name: "a step", cuts: allCuts, trial: func(w *world) designtest.Trial { return w.offering(backendtest.Ran(w.Launch(designtest.Sequence)[0])) }},
		{name: "opens a barrier", cuts: allCuts, trial: func(w *world) designtest.Trial {
			tasks := w.Launch(designtest.Joining)
			w.Complete(backendtest.Ran(tasks[0]))
			return w.offering(backendtest.Ran(tasks[1]))
		}},
		{name: "ends an instance", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial { return w.offering(backendtest.Ran(w.Launch(designtest.Alone)[0])) }},
		{name: "fails an instance", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial {
			return w.offering(backendtest.Ran(designtest.FailureOf(w.Launch(designtest.Failing))))
		}},
		{name: "ends a round of a loop", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial {
			second := w.Complete(backendtest.Ran(w.Launch(designtest.Looping)[0])).Tasks
			return w.offering(backendtest.Ran(second[0]))
		}},
		{name: "calls siblings off", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial {
			return w.offering(backendtest.Ran(designtest.FailureOf(w.Launch(designtest.Caught))))
		}},
		{name: "cancel", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial { return w.canceling(w.Launch(designtest.Joining)) }},
		{name: "is retried", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial { return w.offering(backendtest.Ran(w.Launch(retried)[0])) }},
		{name: "several", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial {
			var subs []backend.Submission
			for _, wf := range depth.Of([]backendtest.Workflow{designtest.Joining, designtest.Sequence, designtest.Alone, retried}, []backendtest.Workflow{designtest.Joining, designtest.Sequence, designtest.Alone, designtest.Fanned, retried}) {
				subs = append(subs, w.Instance(wf))
			}
			cs := designtest.Ran(w.Submit(subs...)...)
			second := w.Complete(backendtest.Ran(w.Launch(designtest.Looping)[0])).Tasks
			return w.offering(append(cs, backendtest.Ran(second[0]), backendtest.Ran(designtest.FailureOf(w.Launch(designtest.Failing))))...)
		}},
		{name: "beside a stale one", cuts: designtest.OnceCuts, trial: func(w *world) designtest.Trial {
			over, open := w.Launch(designtest.Alone)[0], w.Launch(designtest.Sequence)[0]
			w.Complete(backendtest.Ran(over))
			return w.besideStale(designtest.Ran(over), backendtest.Ran(open))
		}},
		{name: "submit", cuts: allCuts, trial: func(w *world) designtest.Trial {
			return w.submitting(w.Instance(designtest.Sequence), w.Instance(designtest.Fanned))
		}},
		{name: "claim", cuts: designtest.WarmCuts, trial: func(w *world) designtest.Trial { return w.claiming(w.Instance(designtest.Alone)) }},
		{name: "extend", cuts: designtest.WarmCuts, trial: func(w *world) designtest.Trial { return w.extending(w.Launch(designtest.Sequence)[0]) }},
	}
}

func (w *world) submitting(subs ...backend.Submission) designtest.Trial {
	var out backend.Committed
	return designtest.Trial{
		Call: func() (err error) {
			out, err = w.through.Submit(w.Ctx, subs, backendtest.Granted(100))
			return err
		},
		Judge: func(err error) error {
			stored := w.Dump(subs[0].ID, subs[1].ID)
			again, e := w.direct.Submit(w.Ctx, subs, backendtest.Granted(100))
			if e != nil {
				return e
			}
			first, second := again.Outcomes[0].Answer, again.Outcomes[1].Answer
			switch {
			case first != second:
				return fmt.Errorf("torn: submitted again: %s and %s", first, second)
			case err == nil && first != backend.Duplicate:
				return fmt.Errorf("I8: answered %+v, and submitted again: %s", out.Outcomes, first)
			case err == nil && out.Outcomes[0].Answer == backend.Applied && len(out.Tasks) != 4:
				return fmt.Errorf("applied, with %d tasks; want 4", len(out.Tasks))
			case err != nil && !backend.IsUnknown(err) && (first != backend.Applied || stored != ""):
				return fmt.Errorf("failed (%w), and was stored:\n%s", err, stored)
			}
			return nil
		},
	}
}

func (w *world) claiming(sub backend.Submission) designtest.Trial {
	if _, err := w.direct.Submit(w.Ctx, []backend.Submission{sub}, backendtest.Granted(0)); err != nil {
		w.Fatal(err)
	}
	before := w.Dump()
	var out backend.Committed
	return designtest.Trial{
		Call: func() (err error) {
			out, err = w.through.Claim(w.Ctx, 0, backendtest.Granted(100))
			return err
		},
		Judge: func(err error) error {
			if err != nil {
				if !backend.IsUnknown(err) && w.Dump() != before {
					return fmt.Errorf("failed (%w), and changed something", err)
				}
				return nil
			}
			if len(out.Tasks) == 0 {
				// The claim of an earlier trial was executed after its call had failed.
				return w.noneQueued()
			}
			for _, o := range w.CompleteTasks(out.Tasks...).Outcomes {
				if o.Answer != backend.Applied {
					return fmt.Errorf("what was claimed is answered %s", o.Answer)
				}
			}
			return nil
		},
	}
}

func (w *world) noneQueued() error {
	if w.Number("SELECT count(*) FROM queue WHERE owner IS NULL") > 0 {
		return fmt.Errorf("nothing was claimed, and there is:\n%s", w.Dump())
	}
	return nil
}

func (w *world) extending(task backend.Task) designtest.Trial {
	before := w.Dump(task.Lease.Key.Instance)
	return designtest.Trial{
		Call: func() error {
			held, err := w.through.Renew(w.Ctx, 0, []backend.Lease{task.Lease}, backendtest.Granted(0))
			if err == nil && !held[0] {
				err = fmt.Errorf("the lease is said to be lost")
			}
			return err
		},
		Judge: func(err error) error {
			same := w.Dump(task.Lease.Key.Instance) == before
			if err == nil && same || err != nil && !backend.IsUnknown(err) && !same {
				return fmt.Errorf("answered %s, and the row is the same: %t", fmt.Sprint(err), same)
			}
			if o := w.Complete(backendtest.Ran(task)).Outcomes[0]; o.Answer != backend.Applied {
				return fmt.Errorf("the holder is answered %s", o.Answer)
			}
			return nil
		},
	}
}

func (w *world) canceling(tasks []backend.Task) designtest.Trial {
	id := tasks[0].Lease.Key.Instance
	w.Forget(id)
	before := w.Dump(id)
	var found []backend.Instance
	return designtest.Trial{
		Call: func() (err error) {
			found, err = w.through.Cancel(w.Ctx, []uuid.UUID{id}, "enough")
			return err
		},
		Judge: func(err error) error {
			switch {
			case err == nil && found[0].Status != backend.Canceled:
				return fmt.Errorf("canceled, and is %s", found[0].Status)
			case err != nil && !backend.IsUnknown(err) && w.Dump(id) != before:
				return fmt.Errorf("failed (%w), and changed something", err)
			}
			again, e := w.direct.Cancel(w.Ctx, []uuid.UUID{id}, "enough")
			if e != nil || again[0].Status != backend.Canceled || again[0].Failure == nil || again[0].Failure.Message != "enough" {
				return fmt.Errorf("canceled again: %+v (%w)", again, e)
			}
			for _, o := range w.Complete(backendtest.Ran(tasks[0]), backendtest.Ran(tasks[1])).Outcomes {
				if o.Answer != backend.Stale {
					return fmt.Errorf("I7: a completion of a canceled instance is answered %s", o.Answer)
				}
			}
			return nil
		},
	}
}
