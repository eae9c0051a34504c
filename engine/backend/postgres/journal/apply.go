package journal

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// settle applies a plan, and then the plans of what follows from it, until nothing does. What is over or
// called off goes last, whatever put it there. An error refuses what was to be applied. token is that of the
// completion, for the end of the instance.
func (t *tx) settle(inst *instance, p plan.Plan, token int64) error {
	clears := p.Clears
	events, err := t.apply(inst, p, token)
	for err == nil && !inst.gone && len(events) > 0 {
		if p, err = t.step(inst, events[0], 0); err != nil {
			break
		}
		var more []plan.Event
		more, err = t.apply(inst, p, token)
		if events = events[1:]; len(more) > 0 {
			events = append(events, more...)
		}
		if len(p.Clears) > 0 {
			clears = append(clears[:len(clears):len(clears)], p.Clears...)
		}
	}
	if err != nil || inst.gone {
		return err
	}
	for _, c := range clears {
		t.clear(inst, c)
	}
	return nil
}

// clear takes away what stands under a path for the nodes and variables of a region. What is leased there
// is fenced by it: its completion finds no run.
func (t *tx) clear(inst *instance, c plan.Clear) {
	what := inst.program.Cleared(c.Region)
	for _, a := range under(&inst.runs, c.Path, what.Runs) {
		r, _ := inst.runs.get(a)
		t.grow(inst, -sizeOfRun(r))
		t.set(r, runState{attempt: r.attempt})
		t.removeRun(inst, a, r)
	}
	for _, a := range under(&inst.barriers, c.Path, what.Barriers) {
		bar, _ := inst.barriers.get(a)
		t.grow(inst, -sizeOfBarrier(bar))
		remove(t, &inst.barriers, a)
	}
	for _, a := range under(&inst.slots, c.Path, what.Vars) {
		v, _ := inst.slots.get(a)
		t.grow(inst, -sizeOfValue(v))
		remove(t, &inst.slots, a)
	}
}

// step reads what the event needs and plans it.
func (t *tx) step(inst *instance, ev plan.Event, jitter float64) (plan.Plan, error) {
	needs := inst.program.Needs(ev)
	var in plan.Inbox
	for _, slot := range needs.Slots {
		v, ok := inst.slots.get(ofSlot(slot))
		if !ok {
			continue
		}
		if in.Values == nil {
			in.Values = make(map[plan.Slot]json.RawMessage, len(needs.Slots))
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
		in.Elements = t.gather(inst, ev)
	}
	p, err := inst.program.Step(ev, in, jitter)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("instance %s, %s: %w", inst.id, inst.program.RunName(ev.Run), err)
	}
	return p, nil
}

// gather takes the elements of an aggregate, and its barrier with them: no soft edge leads to an aggregate, so
// nothing can arrive any more.
func (t *tx) gather(inst *instance, ev plan.Event) []plan.Element {
	bar, ok := inst.barriers.get(ofRun(ev.Run))
	if !ok {
		return nil
	}
	out := make([]plan.Element, 0, len(bar.elements))
	for i, v := range bar.elements {
		if v != nil {
			out = append(out, plan.Element{Barrier: ev.Run, Index: i, Value: v})
		}
	}
	t.grow(inst, -sizeOfBarrier(bar))
	remove(t, &inst.barriers, ofRun(ev.Run))
	return out
}

// apply makes a plan's changes but for its clears, and gives the events that follow.
func (t *tx) apply(inst *instance, p plan.Plan, token int64) ([]plan.Event, error) {
	if err := t.writes(inst, p); err != nil {
		return nil, err
	}
	for _, e := range p.Elements {
		if err := t.element(inst, e); err != nil {
			return nil, err
		}
	}
	if err := t.opens(inst, p.Opens); err != nil {
		return nil, err
	}
	var events []plan.Event
	for _, run := range p.Resumes {
		events = append(events, plan.Event{Run: run, Fired: true})
	}
	events, err := t.arrivals(inst, p.Arrivals, events)
	if err != nil {
		return nil, err
	}
	if err := t.enqueues(inst, p.Enqueues); err != nil {
		return nil, err
	}
	switch {
	case p.End == nil:
		return events, nil
	case t.final:
		return nil, fmt.Errorf("instance %s: its events lead to an end, and it is stored as running", inst.id)
	case p.End.Failure != nil:
		t.end(inst, backend.Failed, plan.End{Failure: p.End.Failure}, token)
	default:
		t.end(inst, backend.Completed, *p.End, token)
	}
	return nil, nil
}

// writes puts values into slots, in the place of what they held, and behind those of lists.
func (t *tx) writes(inst *instance, p plan.Plan) error {
	for _, w := range p.Writes {
		a := ofSlot(w.Slot)
		old, had := inst.slots.get(a)
		if !w.Drops && len(old.appended) > 0 {
			return fmt.Errorf("instance %s: %s is written over what was appended to it", inst.id, backend.FormatSlot(w.Slot))
		}
		if had {
			t.grow(inst, -sizeOfValue(old))
		}
		if w.Value == nil {
			remove(t, &inst.slots, a)
			continue
		}
		t.grow(inst, slotBytes+len(w.Value))
		put(t, &inst.slots, a, value{base: w.Value})
	}
	for _, ap := range p.Appends {
		a := ofSlot(ap.Slot)
		v, _ := inst.slots.get(a)
		if !bytes.HasPrefix(bytes.TrimSpace(v.base), []byte("[")) || ap.Index != len(v.appended) {
			return fmt.Errorf("instance %s: value %d is appended to %s, which has %d behind %.20q",
				inst.id, ap.Index, backend.FormatSlot(ap.Slot), len(v.appended), v.base)
		}
		t.grow(inst, elementBytes+len(ap.Value))
		v.appended = append(v.appended, ap.Value) // what a rollback leaves behind the old length is overwritten
		put(t, &inst.slots, a, v)
	}
	return nil
}

// barrier finds a barrier, or makes one.
func (t *tx) barrier(inst *instance, a address) *barrier {
	if bar, ok := inst.barriers.get(a); ok {
		return bar
	}
	bar := &barrier{}
	t.grow(inst, barrierBytes)
	put(t, &inst.barriers, a, bar)
	return bar
}

// element puts one value at its barrier.
func (t *tx) element(inst *instance, e plan.Element) error {
	if e.Index < 0 {
		return fmt.Errorf("instance %s: element %d of %s", inst.id, e.Index, inst.program.RunName(e.Barrier))
	}
	bar := t.barrier(inst, ofRun(e.Barrier))
	if e.Index >= len(bar.elements) {
		grown := make([]json.RawMessage, max(e.Index+1, int(bar.required)))
		copy(grown, bar.elements)
		t.grow(inst, elementBytes*(len(grown)-len(bar.elements)))
		before := bar.elements
		bar.elements = grown
		t.undone(func() { bar.elements = before })
	}
	old := bar.elements[e.Index]
	t.grow(inst, len(e.Value)-len(old))
	bar.elements[e.Index] = e.Value
	t.undone(func() { bar.elements[e.Index] = old })
	return nil
}

// opens makes the counts of barriers known.
func (t *tx) opens(inst *instance, opens []plan.Open) error {
	for _, o := range opens {
		bar := t.barrier(inst, ofRun(o.Run)) // elements of the same plan may have made it
		if bar.required != 0 {
			return fmt.Errorf("instance %s: the count of %s is known already", inst.id, inst.program.RunName(o.Run))
		}
		if o.Required < 1 {
			return fmt.Errorf("instance %s: %s requires %d arrivals; it takes at least one", inst.id, inst.program.RunName(o.Run), o.Required)
		}
		bar.required = int32(o.Required)
		t.undone(func() { bar.required = 0 })
	}
	return nil
}

// arrivals counts steps towards barriers, and adds the events that follow from them.
func (t *tx) arrivals(inst *instance, arrivals []plan.Arrival, events []plan.Event) ([]plan.Event, error) {
	for _, a := range arrivals {
		bar := t.barrier(inst, ofRun(a.Run))
		old := *bar
		switch {
		case bar.required == 0 && a.Required < 1:
			return nil, fmt.Errorf("instance %s: an arrival at %s, whose count is not known", inst.id, inst.program.RunName(a.Run))
		case bar.required == 0:
			bar.required = int32(a.Required)
		case a.Required > 0 && int32(a.Required) != bar.required:
			return nil, fmt.Errorf("instance %s: %s requires %d arrivals in memory and %d in the program",
				inst.id, inst.program.RunName(a.Run), bar.required, a.Required)
		}
		t.undone(func() { bar.required, bar.completed, bar.soft = old.required, old.completed, old.soft })
		if a.Soft && bar.soft {
			continue
		}
		bar.soft = bar.soft || a.Soft
		if bar.completed++; bar.completed > bar.required {
			return nil, fmt.Errorf("instance %s: arrival %d of %d at %s: %w",
				inst.id, bar.completed, bar.required, inst.program.RunName(a.Run), backend.ErrOverflow)
		}
		if a.Watched || bar.completed == bar.required {
			events = append(events, inst.program.Reached(a.Run, int(bar.required), int(bar.completed-1), int(bar.completed))...)
		}
	}
	return events, nil
}

// enqueues makes node runs ready, now or when their time has come, and none that is there already.
func (t *tx) enqueues(inst *instance, enqueues []plan.Enqueue) error {
	for i := range enqueues {
		e := &enqueues[i]
		a := ofRun(e.Run)
		if _, there := inst.runs.get(a); there {
			return fmt.Errorf("instance %s: %s was enqueued before", inst.id, inst.program.RunName(e.Run))
		}
		for j := range e.Args {
			if ref := e.Args[j].Ref; ref != nil {
				if _, ok := inst.slots.get(ofSlot(*ref)); !ok {
					return fmt.Errorf("instance %s: an argument of %s refers to %s, which has no value",
						inst.id, inst.program.RunName(e.Run), backend.FormatSlot(*ref))
				}
			}
		}
		t.sh.orders++
		r := &run{inst: inst, key: e.Run, action: e.Action, args: e.Args, order: t.sh.orders, runState: runState{place: ready, attempt: 1}}
		if e.After > 0 {
			r.place, r.due = waiting, t.now+int64(e.After)
			t.timed = true
		}
		t.grow(inst, sizeOfRun(r))
		t.putRun(inst, a, r)
		if !t.final {
			t.moved = append(t.moved, r)
		}
	}
	return nil
}

// start begins an instance in memory.
func (t *tx) start(inst *instance, p plan.Plan) error {
	t.sh.instances[inst.id] = inst
	t.undone(func() { delete(t.sh.instances, inst.id) })
	t.keepBytes(inst)
	t.grow(inst, instanceBytes)
	return t.settle(inst, p, 0)
}

// advance takes an instance forward by the end of one attempt, and notes the event.
func (t *tx) advance(r *run, c *backend.Completion) error {
	inst := r.inst
	switch {
	case c.Program == nil:
		return fmt.Errorf("instance %s, %s: a completion without its program", inst.id, inst.program.RunName(r.key))
	case c.Program != inst.program && c.Program.Hash() != inst.program.Hash():
		return fmt.Errorf("instance %s runs another program than the one it is completed with", inst.id)
	case c.Attempt != int(r.attempt):
		return fmt.Errorf("instance %s, %s: attempt %d is completed as attempt %d", inst.id, inst.program.RunName(r.key), r.attempt, c.Attempt)
	}
	ev := plan.Event{Run: r.key, Attempt: c.Attempt, Result: bytes.Clone(c.Result), Failure: c.Failure}
	p, err := t.step(inst, ev, t.b.jitter())
	if err != nil {
		return err
	}
	e := event{inst: inst, key: r.key, token: r.token, data: ev.Result}
	if c.Failure != nil {
		e.kind = kindFailure
		if e.data, err = json.Marshal(c.Failure); err != nil {
			return fmt.Errorf("instance %s, %s: %w", inst.id, inst.program.RunName(r.key), err)
		}
	}
	if p.Retry != nil {
		e.kind, e.timed = kindRetry, p.Retry.After > 0
		e.data = appendInt(nil, int64(p.Retry.After))
		t.events = append(t.events, e)
		t.retry(r, int64(p.Retry.After))
		return nil
	}
	t.timed = false
	if err := t.completed(r, p, e.token); err != nil {
		return err
	}
	e.timed = t.timed
	t.events = append(t.events, e)
	if !inst.gone && inst.snapshotDue() && !t.snapped(inst) {
		return t.snapshot(inst, e.token)
	}
	return nil
}

// snapped says whether the transaction has written an instance's state down already.
func (t *tx) snapped(inst *instance) bool {
	for i := range t.events {
		if t.events[i].kind == kindSnapshot && t.events[i].inst == inst {
			return true
		}
	}
	return false
}

// completed takes a run away and applies the plan of its end.
func (t *tx) completed(r *run, p plan.Plan, token int64) error {
	t.keepBytes(r.inst)
	t.grow(r.inst, -sizeOfRun(r))
	t.set(r, runState{attempt: r.attempt})
	t.removeRun(r.inst, ofRun(r.key), r)
	return t.settle(r.inst, p, token)
}

// retry offers a failed run again, at once or after a wait.
func (t *tx) retry(r *run, after int64) {
	next := runState{place: ready, attempt: r.attempt + 1}
	if after > 0 {
		next.place, next.due = waiting, t.now+after
	}
	t.set(r, next)
}
