package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
)

// driver runs a program on the model, one completion after the other in order of enqueueing, and keeps a trace of every event
// and its plan.
type driver struct {
	*model.Instance[struct{}]
	act     func(action string, args map[string]json.RawMessage, attempt int) (json.RawMessage, *plan.Failure)
	pick    func(n int) int       // which of n queued tasks ends next; nil: the first
	watch   func(plan.Plan) error // sees every plan; may be nil
	same    *plan.Program         // must give the same plans; may be nil
	held    int                   // most rows at once, without appended values
	queue   []task
	resumes []graph.Run // not continued yet
	wrong   error
	end     *plan.End
	trace   strings.Builder
	writes  int
}

type task struct {
	plan.Enqueue
	attempt int
}

func newDriver(p *plan.Program) *driver {
	d := &driver{}
	d.Instance = model.New(p, model.Watch[struct{}]{
		Wrong: func(invariant, format string, args ...any) {
			if d.wrong == nil {
				d.wrong = fmt.Errorf("%s: %s", invariant, fmt.Sprintf(format, args...))
			}
		},
		Enqueued: func(e *plan.Enqueue) struct{} {
			d.queue = append(d.queue, task{*e, 1})
			return struct{}{}
		},
		Cancelled: d.cancelled,
	})
	return d
}

// Without AtWork nothing may be queued.
func (d *driver) cancelled(run graph.Run, _ struct{}, by plan.Clear) {
	if !by.AtWork {
		d.Wrong("I10", "%s is queued where everything should have ended", d.Program.RunName(run))
	}
	d.queue = slices.DeleteFunc(d.queue, func(t task) bool { return t.Run == run })
}

func (d *driver) run(input string) error {
	pl, err := d.Program.Start(json.RawMessage(input))
	if err != nil {
		return err
	}
	if d.same != nil {
		if kept, err := d.same.Start(json.RawMessage(input)); err != nil || !reflect.DeepEqual(pl, kept) {
			return fmt.Errorf("remembered is another beginning (%v):\n%s\nthan\n%s", err, d.Program.Describe(kept), d.Program.Describe(pl))
		}
	}
	fmt.Fprintf(&d.trace, "start %s\n", input)
	if err := d.commit(pl); err != nil {
		return err
	}
	for d.end == nil {
		if len(d.queue) == 0 {
			return fmt.Errorf("nothing is queued and the instance has not ended")
		}
		at := 0
		if d.pick != nil {
			at = d.pick(len(d.queue))
		}
		t := d.queue[at]
		d.queue = append(d.queue[:at:at], d.queue[at+1:]...)
		if err := d.complete(t); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) whole(s plan.Slot) (json.RawMessage, error) {
	return plan.JoinAppended(d.Values[s], d.Appended[s])
}

func (d *driver) complete(t task) error {
	args := map[string]json.RawMessage{}
	for _, a := range t.Args {
		if args[a.Name] = a.Value; a.Ref != nil {
			var err error
			if args[a.Name], err = d.whole(*a.Ref); err != nil || args[a.Name] == nil {
				return fmt.Errorf("%s: argument %s refers to a slot without a value: %v", d.Program.RunName(t.Run), a.Name, err)
			}
		}
	}
	ev := plan.Event{Run: t.Run, Attempt: t.attempt}
	if ev.Result = json.RawMessage("null"); t.Action != "" {
		ev.Result, ev.Failure = d.act(t.Action, args, t.attempt)
	}
	if ev.Failure != nil {
		fmt.Fprintf(&d.trace, "failed %s, attempt %d: %s\n", d.Program.RunName(t.Run), t.attempt, ev.Failure.Type)
	} else {
		fmt.Fprintf(&d.trace, "completed %s = %s\n", d.Program.RunName(t.Run), shorten(ev.Result))
	}
	pl, err := d.step(ev)
	if err != nil {
		return err
	}
	if pl.Retry != nil {
		t.attempt++
		d.queue = append(d.queue, t)
	} else {
		delete(d.Runs, t.Run)
	}
	return d.commit(pl)
}

func (d *driver) commit(pl plan.Plan) (err error) {
	if err := d.look(pl); err != nil {
		return err
	}
	d.end, err = d.Fixpoint(pl, func(ev plan.Event) (plan.Plan, error) {
		fmt.Fprintf(&d.trace, "%s %s\n", d.continues(ev.Run), d.Program.RunName(ev.Run))
		pl, err := d.step(ev)
		if err != nil {
			return pl, err
		}
		if d.Program.Needs(ev).Elements {
			d.Forget(ev.Run)
		}
		return pl, d.look(pl)
	})
	if d.end != nil {
		return errors.Join(err, d.wrong)
	}
	d.held = max(d.held, len(d.queue)+len(d.Values)+len(d.Counters))
	return errors.Join(err, d.wrong)
}

func (d *driver) continues(run graph.Run) string {
	c, counted := d.Counters[run]
	switch {
	case slices.Contains(d.resumes, run):
		d.resumes = slices.DeleteFunc(d.resumes, func(r graph.Run) bool { return r == run })
		return "resumed"
	case counted && c.Completed == c.Required:
		return "fired"
	}
	return "started"
}

func (d *driver) look(pl plan.Plan) error {
	d.trace.WriteString(d.Program.Describe(pl))
	d.writes += len(pl.Writes)
	d.resumes = append(d.resumes, pl.Resumes...)
	if d.watch == nil {
		return nil
	}
	return d.watch(pl)
}

func (d *driver) step(ev plan.Event) (plan.Plan, error) {
	pl, err := d.Step(ev, 0.5)
	if again, errAgain := d.Step(ev, 0.5); !reflect.DeepEqual(pl, again) || (err == nil) != (errAgain == nil) {
		return pl, fmt.Errorf("the same event with the same inbox gave another plan:\n%s\nand\n%s", d.Program.Describe(pl), d.Program.Describe(again))
	}
	if d.same != nil {
		if kept, errKept := d.same.Step(ev, d.Inbox(ev), 0.5); !reflect.DeepEqual(pl, kept) || (err == nil) != (errKept == nil) {
			return pl, fmt.Errorf("remembered is another plan:\n%s\nthan\n%s", d.Program.Describe(kept), d.Program.Describe(pl))
		}
	}
	return pl, err
}

func shorten(v json.RawMessage) string {
	if len(v) > 60 {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return string(v)
}
