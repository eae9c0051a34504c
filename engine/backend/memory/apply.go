package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// refusal is an error that refuses one submission or completion and leaves the rest of its call alone.
type refusal struct{ err error }

func (r refusal) Error() string { return r.err.Error() }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// outcome turns the error of one member of a batch into its answer: a refused member is taken back to
// the savepoint, and any other error ends the call.
func (t *tx) outcome(sp savepoint, err error) (backend.Outcome, error) {
	var no refusal
	switch {
	case err == nil:
		return backend.Outcome{Answer: backend.Applied}, nil
	case errors.As(err, &no):
		t.rollback(sp)
		return backend.Outcome{Answer: backend.Refused, Err: no.err}, nil
	}
	return backend.Outcome{}, err
}

// settle applies a plan, and then the plans of what follows from it, until nothing does. What is over or
// called off goes last, whatever put it there.
func (t *tx) settle(inst *instance, p plan.Plan) error {
	clears := p.Clears
	events, err := t.apply(inst, p)
	for err == nil && inst.status == backend.Running && len(events) > 0 {
		ev := events[0]
		if err = t.at(pointFired); err != nil {
			break
		}
		if p, err = t.step(inst, ev); err != nil {
			break
		}
		var more []plan.Event
		more, err = t.apply(inst, p)
		events = append(events[1:], more...)
		clears = append(clears, p.Clears...)
	}
	if err != nil || inst.status != backend.Running {
		return err
	}
	for _, c := range clears {
		t.clear(inst, c)
	}
	return t.at(pointClears)
}

// clear takes away what stands under a path for the nodes and variables of a region. What is leased there
// is fenced by it: its completion finds no row.
func (t *tx) clear(inst *instance, c plan.Clear) {
	what := t.b.core(inst.program).Cleared(c.Region)
	for _, a := range under(&inst.rows, c.Path, what.Runs) {
		r := inst.rows.at[a]
		t.set(r, rowState{place: nowhere, attempt: r.attempt})
		inst.rows.remove(t, a)
	}
	for _, a := range under(&inst.readiness, c.Path, what.Barriers) {
		inst.readiness.remove(t, a)
	}
	for _, a := range under(&inst.elements, c.Path, what.Barriers) {
		inst.elements.remove(t, a)
	}
	for _, a := range under(&inst.slots, c.Path, what.Vars) {
		inst.slots.remove(t, a)
	}
}

// step reads what the event needs and plans it.
func (t *tx) step(inst *instance, ev plan.Event) (plan.Plan, error) {
	c := t.b.core(inst.program)
	needs := c.Needs(ev)
	in := plan.Inbox{Values: make(map[plan.Slot]json.RawMessage, len(needs.Slots))}
	for _, slot := range needs.Slots {
		v, ok := inst.slots.at[ofSlot(slot)]
		if !ok {
			continue
		}
		in.Values[slot] = v.base
		if len(v.appended) > 0 {
			if in.Appended == nil {
				in.Appended = map[plan.Slot][]plan.Append{}
			}
			in.Appended[slot] = v.list(slot)
		}
	}
	if needs.Elements {
		for i, v := range inst.elements.at[ofRun(ev.Run)] {
			in.Elements = append(in.Elements, plan.Element{Barrier: ev.Run, Index: i, Value: v})
		}
	}
	jitter := 0.0
	if !ev.Fired {
		jitter = t.b.jitter()
	}
	p, err := c.Step(ev, in, jitter)
	if err != nil {
		return plan.Plan{}, refuse("planning node %d of instance %s: %w", ev.Run.Node, inst.id, err)
	}
	return p, nil
}

// apply stores what a plan changes but for its clears, and gives the events that follow.
func (t *tx) apply(inst *instance, p plan.Plan) ([]plan.Event, error) {
	if err := t.writes(inst, p.Writes); err != nil {
		return nil, err
	}
	if err := t.appends(inst, p.Appends); err != nil {
		return nil, err
	}
	for _, e := range p.Elements {
		t.element(inst, e)
	}
	if err := t.at(pointElements); err != nil {
		return nil, err
	}
	if err := t.opens(inst, p.Opens); err != nil {
		return nil, err
	}
	var events []plan.Event
	for _, run := range p.Resumes {
		events = append(events, plan.Event{Run: run, Fired: true})
	}
	reached, err := t.arrivals(inst, p.Arrivals)
	if err != nil {
		return nil, err
	}
	if err := t.enqueues(inst, p.Enqueues); err != nil {
		return nil, err
	}
	switch {
	case p.End == nil:
		return append(events, reached...), nil
	case p.End.Failure != nil:
		return nil, t.end(inst, backend.Failed, plan.End{Failure: p.End.Failure})
	}
	return nil, t.end(inst, backend.Completed, *p.End)
}

// writes puts values into slots, in the place of what they held.
func (t *tx) writes(inst *instance, writes []plan.Write) error {
	for _, w := range writes {
		a := ofSlot(w.Slot)
		switch {
		case len(inst.slots.at[a].appended) > 0 && !w.Drops:
			return refuse("instance %s: %s is written over what was appended to it", inst.id, backend.FormatSlot(w.Slot))
		case w.Value == nil:
			inst.slots.remove(t, a)
		default:
			inst.slots.put(t, a, value{base: cloneJSON(w.Value)})
		}
	}
	return t.at(pointWrites)
}

// appends puts values behind those of a list.
func (t *tx) appends(inst *instance, appends []plan.Append) error {
	for _, ap := range appends {
		a := ofSlot(ap.Slot)
		v := inst.slots.at[a]
		if !bytes.HasPrefix(bytes.TrimSpace(v.base), []byte("[")) || ap.Index != len(v.appended) {
			return refuse("instance %s: value %d is appended to %s, which has %d behind %.20q",
				inst.id, ap.Index, backend.FormatSlot(ap.Slot), len(v.appended), v.base)
		}
		v.appended = append(v.appended, cloneJSON(ap.Value)) // what a rollback leaves behind the old length is overwritten
		inst.slots.put(t, a, v)
	}
	return t.at(pointAppends)
}

// element puts one value at its barrier.
func (t *tx) element(inst *instance, e plan.Element) {
	a := ofRun(e.Barrier)
	if inst.elements.at[a] == nil {
		inst.elements.put(t, a, map[int]json.RawMessage{})
	}
	put(t, inst.elements.at[a], e.Index, cloneJSON(e.Value))
}

// opens makes the counts of barriers known.
func (t *tx) opens(inst *instance, opens []plan.Open) error {
	for _, o := range opens {
		if has(&inst.readiness, ofRun(o.Run)) {
			return refuse("instance %s: the count of barrier %d at %q is known already", inst.id, o.Run.Node, o.Run.Path)
		}
		if o.Required < 1 {
			return refuse("instance %s: barrier %d at %q requires %d arrivals; it takes at least one",
				inst.id, o.Run.Node, o.Run.Path, o.Required)
		}
		inst.readiness.put(t, ofRun(o.Run), counter{required: o.Required})
	}
	return t.at(pointOpens)
}

// arrivals counts steps towards barriers, and gives the events that follow from them.
func (t *tx) arrivals(inst *instance, arrivals []plan.Arrival) ([]plan.Event, error) {
	var reached []plan.Event
	for _, a := range arrivals {
		c, ok := inst.readiness.at[ofRun(a.Run)]
		switch {
		case !ok && a.Required < 1:
			return nil, refuse("instance %s: an arrival at barrier %d at %q, whose count is not known",
				inst.id, a.Run.Node, a.Run.Path)
		case !ok:
			c.required = a.Required
		case a.Required > 0 && a.Required != c.required:
			return nil, refuse("instance %s: barrier %d at %q requires %d arrivals in the store and %d in the program",
				inst.id, a.Run.Node, a.Run.Path, c.required, a.Required)
		}
		if a.Soft && c.soft {
			continue
		}
		c.soft = c.soft || a.Soft
		if c.completed++; c.completed > c.required {
			return nil, refuse("instance %s: arrival %d of %d at barrier %d at %q: %w",
				inst.id, c.completed, c.required, a.Run.Node, a.Run.Path, backend.ErrOverflow)
		}
		inst.readiness.put(t, ofRun(a.Run), c)
		if a.Watched || c.completed == c.required {
			reached = append(reached, t.b.core(inst.program).Reached(a.Run, c.required, c.completed-1, c.completed)...)
		}
	}
	return reached, t.at(pointArrivals)
}

// enqueues makes node runs ready, now or when their time has come, and none that is there already.
func (t *tx) enqueues(inst *instance, enqueues []plan.Enqueue) error {
	for _, e := range enqueues {
		if has(&inst.rows, ofRun(e.Run)) {
			return refuse("instance %s: node %d at %q was enqueued before", inst.id, e.Run.Node, e.Run.Path)
		}
		for _, slot := range backend.Refs(e.Args) {
			if !has(&inst.slots, ofSlot(slot)) {
				return refuse("instance %s: an argument of node %d at %q refers to %s, which has no value",
					inst.id, e.Run.Node, e.Run.Path, backend.FormatSlot(slot))
			}
		}
		t.s.seq++
		r := &row{inst: inst, run: e.Run, seq: t.s.seq}
		inst.rows.put(t, ofRun(e.Run), r)
		state := rowState{attempt: 1, action: e.Action, args: cloneArgs(e.Args)}
		if e.After <= 0 {
			t.makeReady(r, state)
			continue
		}
		state.place, state.at = inWaiting, t.now.Add(e.After)
		t.set(r, state)
	}
	return t.at(pointEnqueues)
}

func cloneJSON(v json.RawMessage) json.RawMessage { return bytes.Clone(v) }

func cloneFailure(f *plan.Failure) *plan.Failure {
	if f == nil {
		return nil
	}
	c := *f
	return &c
}

func cloneArgs(args []plan.Arg) []plan.Arg {
	out := make([]plan.Arg, len(args))
	for i, a := range args {
		out[i] = plan.Arg{Name: a.Name, Value: cloneJSON(a.Value)}
		if a.Ref != nil {
			ref := *a.Ref
			out[i].Ref = &ref
		}
	}
	return out
}
