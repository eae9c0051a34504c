package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
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
	same      *plan.Program         // has to give the same plans; nil: there is none
	inbox     map[plan.Slot]json.RawMessage
	appended  map[plan.Slot][]plan.Append
	clears    []plan.Clear // of the event that is under way
	held      int          // the most rows that there were at once, apart from what was appended
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
		p: p, inbox: map[plan.Slot]json.RawMessage{}, appended: map[plan.Slot][]plan.Append{}, elements: map[graph.Run][]plan.Element{},
		required: map[graph.Run]int{}, completed: map[graph.Run]int{}, softSeen: map[graph.Run]bool{}, enqueued: map[graph.Run]bool{},
	}
}

func (d *driver) run(input string) error {
	pl, err := d.p.Start(json.RawMessage(input))
	if err != nil {
		return err
	}
	if d.same != nil {
		if kept, err := d.same.Start(json.RawMessage(input)); err != nil || !reflect.DeepEqual(pl, kept) {
			return fmt.Errorf("remembered is another beginning (%v):\n%s\nthan\n%s", err, d.p.Describe(kept), d.p.Describe(pl))
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

// whole gives all that a slot holds.
func (d *driver) whole(s plan.Slot) (json.RawMessage, error) {
	return plan.JoinAppended(d.inbox[s], d.appended[s])
}

func (d *driver) complete(t task) error {
	args := map[string]json.RawMessage{}
	for _, a := range t.Args {
		if args[a.Name] = a.Value; a.Ref != nil {
			var err error
			if args[a.Name], err = d.whole(*a.Ref); err != nil || args[a.Name] == nil {
				return fmt.Errorf("%s: argument %s refers to a slot without a value: %v", d.p.RunName(t.Run), a.Name, err)
			}
		}
	}
	ev := plan.Event{Run: t.Run, Attempt: t.attempt}
	if ev.Result = json.RawMessage("null"); t.Action != "" {
		ev.Result, ev.Failure = d.act(t.Action, args, t.attempt)
	}
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
	return d.commit(pl)
}

// commit applies a plan with all that follows from it, and then clears.
func (d *driver) commit(pl plan.Plan) error {
	if err := d.apply(pl); err != nil {
		return err
	}
	clears := d.clears
	d.clears = nil
	if d.end != nil {
		return nil
	}
	for _, c := range clears {
		if err := d.clear(c); err != nil {
			return err
		}
	}
	d.held = max(d.held, len(d.queue)+len(d.inbox)+len(d.required))
	return nil
}

// clear takes away what stands under the path. Where nothing may be at work, nothing may be queued.
func (d *driver) clear(c plan.Clear) error {
	what := d.p.Cleared(c.Region)
	for i := len(d.queue) - 1; i >= 0; i-- {
		if r := d.queue[i].Run; slices.Contains(what.Runs, r.Node) && r.Path.Under(c.Path) {
			if !c.AtWork {
				return fmt.Errorf("%s is queued where everything should have ended", d.p.RunName(r))
			}
			d.queue = slices.Delete(d.queue, i, i+1)
		}
	}
	barrier := func(r graph.Run) bool { return slices.Contains(what.Barriers, r.Node) && r.Path.Under(c.Path) }
	maps.DeleteFunc(d.elements, func(r graph.Run, _ []plan.Element) bool { return barrier(r) })
	maps.DeleteFunc(d.required, func(r graph.Run, _ int) bool { return barrier(r) })
	maps.DeleteFunc(d.completed, func(r graph.Run, _ int) bool { return barrier(r) })
	value := func(s plan.Slot) bool { return slices.Contains(what.Vars, s.Var) && s.Scope.Under(c.Path) }
	maps.DeleteFunc(d.inbox, func(s plan.Slot, _ json.RawMessage) bool { return value(s) })
	maps.DeleteFunc(d.appended, func(s plan.Slot, _ []plan.Append) bool { return value(s) })
	return nil
}

func (d *driver) step(ev plan.Event) (plan.Plan, error) {
	needs := d.p.Needs(ev)
	inbox := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}, Appended: map[plan.Slot][]plan.Append{}}
	for _, s := range needs.Slots {
		if v, ok := d.inbox[s]; ok {
			inbox.Values[s], inbox.Appended[s] = v, d.appended[s]
		}
	}
	if needs.Elements {
		inbox.Elements = d.elements[ev.Run]
	}
	pl, err := d.p.Step(ev, inbox, 0.5)
	if again, errAgain := d.p.Step(ev, inbox, 0.5); !reflect.DeepEqual(pl, again) || (err == nil) != (errAgain == nil) {
		return pl, fmt.Errorf("the same event with the same inbox gave another plan:\n%s\nand\n%s", d.p.Describe(pl), d.p.Describe(again))
	}
	if d.same != nil {
		if kept, errKept := d.same.Step(ev, inbox, 0.5); !reflect.DeepEqual(pl, kept) || (err == nil) != (errKept == nil) {
			return pl, fmt.Errorf("remembered is another plan:\n%s\nthan\n%s", d.p.Describe(kept), d.p.Describe(pl))
		}
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
		if len(d.appended[w.Slot]) > 0 && !w.Drops {
			return fmt.Errorf("variable %d is written over what was appended to it", w.Slot.Var)
		}
		delete(d.appended, w.Slot)
	}
	for _, a := range pl.Appends {
		if d.inbox[a.Slot] == nil || a.Index != len(d.appended[a.Slot]) {
			return fmt.Errorf("value %d is appended to variable %d, which has %d", a.Index, a.Slot.Var, len(d.appended[a.Slot]))
		}
		d.appended[a.Slot] = append(d.appended[a.Slot], a)
	}
	d.clears = append(d.clears, pl.Clears...)
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
	for _, r := range pl.Resumes {
		if err := d.fire("resumed", plan.Event{Run: r, Fired: true}); err != nil || d.end != nil {
			return err
		}
	}
	for _, a := range pl.Arrivals {
		if err := d.arrive(a); err != nil || d.end != nil {
			return err
		}
	}
	return nil
}

func (d *driver) fire(word string, ev plan.Event) error {
	fmt.Fprintf(&d.trace, "%s %s\n", word, d.p.RunName(ev.Run))
	pl, err := d.step(ev)
	if err != nil {
		return err
	}
	if word == "fired" {
		delete(d.elements, ev.Run)
		delete(d.required, ev.Run)
		delete(d.completed, ev.Run)
	}
	return d.apply(pl)
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
	required, now := d.required[a.Run], d.completed[a.Run]
	if now > required {
		return fmt.Errorf("I2: %s has %d arrivals of %d", d.p.RunName(a.Run), now, required)
	}
	for _, ev := range d.p.Reached(a.Run, required, now-1, now) {
		word := "fired"
		if ev.Run != a.Run {
			word = "started"
			if !a.Watched {
				return fmt.Errorf("%s goes on from %s, whose arrivals nobody watches", d.p.RunName(ev.Run), d.p.RunName(a.Run))
			}
		}
		if err := d.fire(word, ev); err != nil || d.end != nil {
			return err
		}
	}
	return nil
}

func shorten(v json.RawMessage) string {
	if len(v) > 60 {
		return fmt.Sprintf("(%d bytes)", len(v))
	}
	return string(v)
}
