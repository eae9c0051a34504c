package sim

import (
	"encoding/json"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
)

// storeModel compares what the store does to an instance with a model.
type storeModel struct {
	*model.Instance[struct{}]
	w             *world
	inst          *instance
	done          map[graph.Run]bool // whose last attempt was applied (I3, I8)
	cancelledRuns map[graph.Run]bool // cancelled before they were done (I10)
	end           *plan.End
	canceled      bool // from outside
}

func newStoreModel(w *world, inst *instance, program *plan.Program) *storeModel {
	t := &storeModel{w: w, inst: inst, done: map[graph.Run]bool{}, cancelledRuns: map[graph.Run]bool{}}
	t.Instance = model.New(program, model.Watch[struct{}]{
		Wrong: t.wrong, Enqueued: t.enqueued, Arrived: t.arrived, Cancelled: t.cancelled,
	})
	return t
}

func (t *storeModel) start(input json.RawMessage) {
	p, err := t.Program.Start(input)
	if err != nil {
		t.wrong("I7", "the store took an input that the core refuses: %v", err)
		return
	}
	t.apply(p)
}

// complete checks a completion that the store applied, and reports whether its run is retried. jitter is the one that the store
// used.
func (t *storeModel) complete(c backend.Completion, jitter float64) (again bool) {
	run := c.Lease.Key.Run
	switch {
	case t.end != nil:
		t.wrong("I7", "%s was applied after the end", t.Program.RunName(run))
		return false
	case !t.Ever[run]:
		t.wrong("I1", "%s was applied and never enqueued", t.Program.RunName(run))
		return false
	case t.done[run]:
		t.wrong("I3", "%s was applied twice", t.Program.RunName(run))
		return false
	case t.cancelledRuns[run]:
		t.wrong("I3", "%s was applied after it was cancelled", t.Program.RunName(run))
		return false
	}
	p, err := t.Step(plan.Event{Run: run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}, jitter)
	if err != nil {
		t.wrong("I3", "the store applied what the core refuses: %v", err)
		return false
	}
	if p.Retry != nil {
		t.w.becomes(c.Lease.Key, t.w.now+p.Retry.After)
		return true
	}
	t.done[run] = true
	delete(t.Runs, run)
	t.w.leaves(c.Lease.Key) // a sleep ends without being started
	t.apply(p)
	return false
}

func (t *storeModel) leased(run graph.Run) {
	switch {
	case t.end != nil:
		t.wrong("I10", "%s was leased after the end", t.Program.RunName(run))
	case !t.Ever[run]:
		t.wrong("I1", "%s was leased and never enqueued", t.Program.RunName(run))
	case t.done[run]:
		t.wrong("I8", "%s was leased again after it was done", t.Program.RunName(run))
	case t.cancelledRuns[run]:
		t.wrong("I10", "%s was leased after it was cancelled", t.Program.RunName(run))
	case t.w.ready[t.key(run)].at > t.w.now:
		t.wrong("I2", "%s was leased before it was due", t.Program.RunName(run))
	}
}

func (t *storeModel) apply(p plan.Plan) {
	end, err := t.Fixpoint(p, func(ev plan.Event) (plan.Plan, error) {
		p, err := t.Step(ev, 0)
		if err != nil {
			err = fmt.Errorf("%s continues, and the core refuses that: %w", t.Program.RunName(ev.Run), err)
		}
		return p, err
	})
	switch {
	case err != nil:
		t.wrong("I2", "%v", err)
	case end != nil:
		t.finish(end)
	}
}

// arrived notes an arrival. A complete barrier that no worker executes runs at once, within the same commit.
func (t *storeModel) arrived(run graph.Run, c model.Counter) {
	ev := t.w.of(oracle.Arrived, t.inst, run)
	ev.Completed, ev.Required = c.Completed, c.Required
	t.w.record(ev)
	switch kind := t.Program.Graph().Nodes[run.Node].Kind; {
	case c.Completed != c.Required, kind == graph.Action, kind == graph.Sleep:
	default:
		t.Enters(run)
		t.w.record(t.w.of(oracle.Enqueued, t.inst, run))
	}
}

func (t *storeModel) enqueued(e *plan.Enqueue) struct{} {
	t.w.record(t.w.of(oracle.Enqueued, t.inst, e.Run))
	t.w.becomes(t.key(e.Run), t.w.now+e.After)
	return struct{}{}
}

func (t *storeModel) cancelled(run graph.Run, _ struct{}, _ plan.Clear) {
	t.cancelledRuns[run] = true
	t.w.leaves(t.key(run))
}

func (t *storeModel) cancel(reason string) {
	if t.end == nil {
		t.canceled = true
		t.finish(&plan.End{Failure: &plan.Failure{Type: backend.CanceledType, Message: reason}})
	}
}

// finish ends it. Its ready runs no longer wait to be started.
func (t *storeModel) finish(end *plan.End) {
	t.end = end
	for run := range t.Runs { // in any order: all happen at one moment
		t.w.leaves(t.key(run))
	}
}

func (t *storeModel) key(run graph.Run) backend.Key {
	return backend.Key{Instance: t.inst.id, Run: run}
}

func (t *storeModel) status() backend.Status {
	switch {
	case t.canceled:
		return backend.Canceled
	case t.end.Failure != nil:
		return backend.Failed
	}
	return backend.Completed
}

// ended compares the store's end with the model's.
func (t *storeModel) ended(inst backend.Instance) {
	switch {
	case t.end == nil:
		t.wrong("I7", "the store ended it, and it has not ended")
	case t.status() != inst.Status, string(t.end.Result) != string(inst.Result):
		t.wrong("I7", "the store ended it as %s with %s, and not as %s with %s", inst.Status, brief(inst.Result), t.status(), brief(t.end.Result))
	}
}

func (t *storeModel) wrong(invariant, format string, args ...any) {
	t.w.violate("%s: instance %d: %s", invariant, t.inst.index, fmt.Sprintf(format, args...))
}

func brief(v json.RawMessage) string {
	const most = 120
	if len(v) <= most {
		return string(v)
	}
	return fmt.Sprintf("%q… (%d bytes)", v[:most], len(v))
}
