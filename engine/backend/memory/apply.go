package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/graph"
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

// settle applies a plan, and then the plans of the barriers that it opens, until nothing opens.
func (t *tx) settle(inst *instance, p plan.Plan) error {
	opened, err := t.apply(inst, p)
	for err == nil && inst.status == backend.Running && len(opened) > 0 {
		ev := plan.Event{Run: opened[0], Fired: true}
		opened = opened[1:]
		if err = t.at(pointBarrier); err != nil {
			break
		}
		if p, err = t.step(inst, ev); err != nil {
			break
		}
		var more []graph.Run
		more, err = t.apply(inst, p)
		opened = append(opened, more...)
	}
	return err
}

// step reads what the event needs and plans it.
func (t *tx) step(inst *instance, ev plan.Event) (plan.Plan, error) {
	c := t.b.core(inst.program)
	needs := c.Needs(ev)
	in := plan.Inbox{Values: make(map[plan.Slot]json.RawMessage, len(needs.Slots))}
	for _, slot := range needs.Slots {
		if v, ok := inst.slots[slot]; ok {
			in.Values[slot] = v
		}
	}
	if needs.Elements {
		for i, v := range inst.elements[ev.Run] {
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

// apply stores what a plan changes, and gives the barriers that it opened.
func (t *tx) apply(inst *instance, p plan.Plan) ([]graph.Run, error) {
	for _, w := range p.Writes {
		if w.Value == nil {
			remove(t, inst.slots, w.Slot)
		} else {
			put(t, inst.slots, w.Slot, cloneJSON(w.Value))
		}
	}
	if err := t.at(pointWrites); err != nil {
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
	opened, err := t.arrivals(inst, p.Arrivals)
	if err != nil {
		return nil, err
	}
	if err := t.enqueues(inst, p.Enqueues); err != nil {
		return nil, err
	}
	if p.End != nil {
		return nil, t.end(inst, *p.End)
	}
	return opened, nil
}

// element puts one value at its barrier.
func (t *tx) element(inst *instance, e plan.Element) {
	if inst.elements[e.Barrier] == nil {
		put(t, inst.elements, e.Barrier, map[int]json.RawMessage{})
	}
	put(t, inst.elements[e.Barrier], e.Index, cloneJSON(e.Value))
}

// opens makes the counts of barriers known.
func (t *tx) opens(inst *instance, opens []plan.Open) error {
	for _, o := range opens {
		if _, ok := inst.readiness[o.Run]; ok {
			return refuse("instance %s: the count of barrier %d at %q is known already", inst.id, o.Run.Node, o.Run.Path)
		}
		if o.Required < 1 {
			return refuse("instance %s: barrier %d at %q requires %d arrivals; it takes at least one",
				inst.id, o.Run.Node, o.Run.Path, o.Required)
		}
		put(t, inst.readiness, o.Run, counter{required: o.Required})
	}
	return t.at(pointOpens)
}

// arrivals counts steps towards barriers, and gives those that became complete.
func (t *tx) arrivals(inst *instance, arrivals []plan.Arrival) ([]graph.Run, error) {
	var opened []graph.Run
	for _, a := range arrivals {
		c, ok := inst.readiness[a.Run]
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
		put(t, inst.readiness, a.Run, c)
		if c.completed == c.required {
			opened = append(opened, a.Run)
		}
	}
	return opened, t.at(pointArrivals)
}

// enqueues makes node runs ready, each once in its instance's life.
func (t *tx) enqueues(inst *instance, enqueues []plan.Enqueue) error {
	for _, e := range enqueues {
		if _, ok := inst.rows[e.Run]; ok {
			return refuse("instance %s: node %d at %q was enqueued before", inst.id, e.Run.Node, e.Run.Path)
		}
		for _, slot := range backend.Refs(e.Args) {
			if _, ok := inst.slots[slot]; !ok {
				return refuse("instance %s: an argument of node %d at %q refers to %s, which has no value",
					inst.id, e.Run.Node, e.Run.Path, backend.FormatSlot(slot))
			}
		}
		t.s.seq++
		r := &row{inst: inst, run: e.Run, seq: t.s.seq}
		put(t, inst.rows, e.Run, r)
		t.makeReady(r, rowState{attempt: 1, action: e.Action, args: cloneArgs(e.Args)})
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
