package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// driver runs a program on maps, one completion after the other in order of enqueueing, and keeps a
// trace of every event and its plan. It is the smallest thing that can obey a plan.
type driver struct {
	p         *plan.Program
	act       func(action string, args map[string]json.RawMessage, attempt int) (json.RawMessage, *plan.Failure)
	pick      func(n int) int       // which of n queued tasks ends next; nil: the first
	watch     func(plan.Plan) error // sees every plan; nil: nobody
	inbox     map[plan.Slot]json.RawMessage
	elements  map[graph.Run][]plan.Element
	required  map[graph.Run]int
	completed map[graph.Run]int
	softSeen  map[graph.Run]bool
	enqueued  map[graph.Run]bool
	queue     []task
	end       *plan.End
	trace     strings.Builder
	writes    int
}

type task struct {
	plan.Enqueue
	attempt int
}

func newDriver(p *plan.Program) *driver {
	return &driver{
		p: p, inbox: map[plan.Slot]json.RawMessage{}, elements: map[graph.Run][]plan.Element{},
		required: map[graph.Run]int{}, completed: map[graph.Run]int{}, softSeen: map[graph.Run]bool{}, enqueued: map[graph.Run]bool{},
	}
}

func (d *driver) run(input string) error {
	pl, err := d.p.Start(json.RawMessage(input))
	if err != nil {
		return err
	}
	fmt.Fprintf(&d.trace, "start %s\n", input)
	if err := d.apply(pl); err != nil {
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

func (d *driver) complete(t task) error {
	args := map[string]json.RawMessage{}
	for _, a := range t.Args {
		if args[a.Name] = a.Value; a.Ref != nil {
			if args[a.Name] = d.inbox[*a.Ref]; args[a.Name] == nil {
				return fmt.Errorf("%s: argument %s refers to a slot without a value", d.p.RunName(t.Run), a.Name)
			}
		}
	}
	ev := plan.Event{Run: t.Run, Attempt: t.attempt}
	ev.Result, ev.Failure = d.act(t.Action, args, t.attempt)
	if ev.Failure != nil {
		fmt.Fprintf(&d.trace, "failed %s, attempt %d: %s\n", d.p.RunName(t.Run), t.attempt, ev.Failure.Type)
	} else {
		fmt.Fprintf(&d.trace, "completed %s = %s\n", d.p.RunName(t.Run), shorten(ev.Result))
	}
	pl, err := d.step(ev)
	if err != nil {
		return err
	}
	if pl.Retry != nil {
		t.attempt++
		d.queue = append(d.queue, t)
	}
	return d.apply(pl)
}

func (d *driver) step(ev plan.Event) (plan.Plan, error) {
	needs := d.p.Needs(ev)
	inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}}
	for _, s := range needs.Slots {
		if v, ok := d.inbox[s]; ok {
			inbox.Values[s] = v
		}
	}
	if needs.Elements {
		inbox.Elements = d.elements[ev.Run]
	}
	pl, err := d.p.Step(ev, inbox, 0.5)
	if again, errAgain := d.p.Step(ev, inbox, 0.5); !reflect.DeepEqual(pl, again) || (err == nil) != (errAgain == nil) {
		return pl, fmt.Errorf("the same event with the same inbox gave another plan:\n%s\nand\n%s", d.p.Describe(pl), d.p.Describe(again))
	}
	return pl, err
}

func (d *driver) apply(pl plan.Plan) error {
	d.trace.WriteString(d.p.Describe(pl))
	if d.watch != nil {
		if err := d.watch(pl); err != nil {
			return err
		}
	}
	for _, w := range pl.Writes {
		d.writes++
		if d.inbox[w.Slot] = w.Value; w.Value == nil {
			delete(d.inbox, w.Slot)
		}
	}
	for _, e := range pl.Elements {
		d.elements[e.Barrier] = append(d.elements[e.Barrier], e)
	}
	for _, o := range pl.Opens {
		d.required[o.Run] = o.Required
	}
	for _, e := range pl.Enqueues {
		if d.enqueued[e.Run] {
			return fmt.Errorf("I1: %s is enqueued twice", d.p.RunName(e.Run))
		}
		d.enqueued[e.Run] = true
		d.queue = append(d.queue, task{e, 1})
	}
	if pl.End != nil {
		d.end = pl.End
		return nil
	}
	for _, a := range pl.Arrivals {
		if err := d.arrive(a); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) arrive(a plan.Arrival) error {
	if a.Required > 0 {
		d.required[a.Run] = a.Required
	}
	if a.Soft {
		if d.softSeen[a.Run] {
			return nil
		}
		d.softSeen[a.Run] = true
	}
	d.completed[a.Run]++
	switch {
	case d.completed[a.Run] > d.required[a.Run]:
		return fmt.Errorf("I2: %s has %d arrivals of %d", d.p.RunName(a.Run), d.completed[a.Run], d.required[a.Run])
	case d.completed[a.Run] < d.required[a.Run]:
		return nil
	}
	fmt.Fprintf(&d.trace, "fired %s\n", d.p.RunName(a.Run))
	pl, err := d.step(plan.Event{Run: a.Run, Fired: true})
	if err != nil {
		return err
	}
	delete(d.elements, a.Run)
	return d.apply(pl)
}

func shorten(v json.RawMessage) string {
	if len(v) > 60 {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return string(v)
}
