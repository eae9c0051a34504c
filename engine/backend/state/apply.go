package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Step is a completed part of applying a plan.
type Step string

// The steps, in order.
const (
	Written  Step = "writes"   // values are in their slots
	Appended Step = "appends"  // values are appended to lists
	Elements Step = "elements" // elements are at their barriers
	Opened   Step = "opens"    // barriers' counts are known
	Arrived  Step = "arrivals" // arrivals are counted
	Enqueued Step = "enqueues" // node runs are enqueued
	Fired    Step = "fired"    // a barrier has opened or a run resumes, and its event is not planned yet
	Cleared  Step = "clears"   // what is finished or cancelled is removed
)

func (t *Tx) pass(s Step) error {
	if t.Passed == nil {
		return nil
	}
	return t.Passed(s)
}

// Begin adds an instance to memory, before its first plan is applied.
func (t *Tx) Begin(inst *Instance) {
	t.KeepBytes(inst)
	t.Grow(inst, instanceBytes)
}

// Apply applies a plan and then its continuations, until nothing follows. Clears come last, whichever plan made what they remove.
// Apply returns the end to which the plans lead, for the caller to end the instance; nil: it continues. An error tells why a plan
// does not fit.
func (t *Tx) Apply(inst *Instance, p plan.Plan) (*plan.End, error) {
	t.KeepBytes(inst)
	clears := p.Clears
	events, err := t.applyChanges(inst, &p, nil)
	for err == nil && p.End == nil && len(events) > 0 {
		if err = t.pass(Fired); err != nil {
			break
		}
		if p, err = t.Step(inst, events[0], 0); err != nil {
			break
		}
		events, err = t.applyChanges(inst, &p, events[1:])
		if len(p.Clears) > 0 {
			clears = append(clears[:len(clears):len(clears)], p.Clears...)
		}
	}
	if err != nil || p.End != nil {
		return p.End, err
	}
	for _, c := range clears {
		t.clear(inst, c)
	}
	return nil, t.pass(Cleared)
}

// clear removes what a region's nodes and variables have under a path. Leases there are fenced: their completions find no run.
func (t *Tx) clear(inst *Instance, c plan.Clear) {
	what := inst.Core.Cleared(c.Region)
	for _, a := range Under(&inst.Runs, c.Path, what.Runs) {
		r, _ := inst.Runs.Get(a)
		t.Grow(inst, -r.size())
		if r.Place != NoQueue {
			t.Set(r, RunState{Attempt: r.Attempt})
		}
		t.removeRun(a, r)
	}
	for _, a := range Under(&inst.Barriers, c.Path, what.Barriers) {
		b, _ := inst.Barriers.Get(a)
		t.removeBarrier(inst, a, b)
	}
	for _, a := range Under(&inst.Slots, c.Path, what.Vars) {
		v, _ := inst.Slots.Get(a)
		t.removeSlot(inst, a, v)
	}
}

// Step reads what an event needs and plans it.
func (t *Tx) Step(inst *Instance, ev plan.Event, jitter float64) (plan.Plan, error) {
	needs := inst.Core.Needs(ev)
	var in plan.Inbox
	for _, slot := range needs.Slots {
		v, ok := inst.Slots.Get(OfSlot(slot))
		if !ok {
			continue
		}
		if in.Values == nil {
			in.Values = make(map[plan.Slot]json.RawMessage, len(needs.Slots))
		}
		in.Values[slot] = v.Base
		if len(v.Appended) > 0 {
			if in.Appended == nil {
				in.Appended = map[plan.Slot][]plan.Append{}
			}
			in.Appended[slot] = v.list(slot)
		}
	}
	if needs.Elements {
		in.Elements = t.gather(inst, ev)
	}
	p, err := inst.Core.Step(ev, in, jitter)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("instance %s, %s: %w", inst.ID, inst.Core.RunName(ev.Run), err)
	}
	return p, nil
}

// gather collects the elements of an aggregate. It removes the barrier unless KeepDone: no soft edge leads to an aggregate, so
// nothing arrives any more.
func (t *Tx) gather(inst *Instance, ev plan.Event) []plan.Element {
	a := OfRun(ev.Run)
	b, ok := inst.Barriers.Get(a)
	if !ok {
		return nil
	}
	out := make([]plan.Element, 0, len(b.Elements))
	for i, v := range b.Elements {
		if v != nil {
			out = append(out, plan.Element{Barrier: ev.Run, Index: i, Value: v})
		}
	}
	if !t.Space.KeepDone {
		t.KeepBytes(inst)
		t.removeBarrier(inst, a, b)
	}
	return out
}

func (t *Tx) applyChanges(inst *Instance, p *plan.Plan, events []plan.Event) ([]plan.Event, error) {
	if err := t.write(inst, p.Writes); err != nil {
		return nil, err
	}
	if err := t.append(inst, p.Appends); err != nil {
		return nil, err
	}
	for i := range p.Elements {
		if err := t.element(inst, &p.Elements[i]); err != nil {
			return nil, err
		}
	}
	if err := t.pass(Elements); err != nil {
		return nil, err
	}
	if err := t.open(inst, p.Opens); err != nil {
		return nil, err
	}
	for _, run := range p.Resumes {
		events = append(events, plan.Event{Run: run, Fired: true})
	}
	for i := range p.Arrivals {
		var err error
		if events, err = t.arrive(inst, &p.Arrivals[i], events); err != nil {
			return nil, err
		}
	}
	if err := t.pass(Arrived); err != nil {
		return nil, err
	}
	inst.Runs.Reserve(len(p.Enqueues))
	for i := range p.Enqueues {
		if err := t.enqueue(inst, &p.Enqueues[i]); err != nil {
			return nil, err
		}
	}
	return events, t.pass(Enqueued)
}

func (t *Tx) write(inst *Instance, writes []plan.Write) error {
	for i := range writes {
		w := &writes[i]
		a := OfSlot(w.Slot)
		old, had := inst.Slots.Get(a)
		switch {
		case !w.Drops && len(old.Appended) > 0:
			return fmt.Errorf("instance %s: %s is written over what was appended to it", inst.ID, backend.FormatSlot(w.Slot))
		case w.Value == nil && had:
			t.removeSlot(inst, a, old)
			continue
		case w.Value == nil:
			continue
		case had:
			t.Grow(inst, -old.size())
		}
		v := Value{Base: w.Value}
		t.Grow(inst, v.size())
		t.putSlot(inst, a, old, had, v)
	}
	return t.pass(Written)
}

func (t *Tx) append(inst *Instance, appends []plan.Append) error {
	for i := range appends {
		ap := &appends[i]
		a := OfSlot(ap.Slot)
		old, had := inst.Slots.Get(a)
		if !bytes.HasPrefix(bytes.TrimSpace(old.Base), []byte("[")) || ap.Index != len(old.Appended) {
			return fmt.Errorf("instance %s: value %d is appended to %s, which has %d behind %.20q",
				inst.ID, ap.Index, backend.FormatSlot(ap.Slot), len(old.Appended), old.Base)
		}
		t.Grow(inst, elementBytes+len(ap.Value))
		v := old
		v.Appended = append(v.Appended, ap.Value) // overwrites what a rollback left behind the old length
		t.putSlot(inst, a, old, had, v)
	}
	return t.pass(Appended)
}

func (t *Tx) barrier(inst *Instance, a Address) *Barrier {
	if b, ok := inst.Barriers.Get(a); ok {
		return b
	}
	b := &Barrier{}
	t.putBarrier(inst, a, b)
	return b
}

func (t *Tx) element(inst *Instance, e *plan.Element) error {
	if e.Index < 0 {
		return fmt.Errorf("instance %s: element %d of %s", inst.ID, e.Index, inst.Core.RunName(e.Barrier))
	}
	t.putElement(inst, t.barrier(inst, OfRun(e.Barrier)), e.Index, e.Value)
	return nil
}

func (t *Tx) open(inst *Instance, opens []plan.Open) error {
	for _, o := range opens {
		b := t.barrier(inst, OfRun(o.Run)) // elements of the same plan may have made it
		if b.Required != 0 {
			return fmt.Errorf("instance %s: the count of %s is known already", inst.ID, inst.Core.RunName(o.Run))
		}
		if o.Required < 1 {
			return fmt.Errorf("instance %s: %s requires %d arrivals; it takes at least one", inst.ID, inst.Core.RunName(o.Run), o.Required)
		}
		t.count(b)
		b.Required = int32(o.Required)
	}
	return t.pass(Opened)
}

func (t *Tx) arrive(inst *Instance, a *plan.Arrival, events []plan.Event) ([]plan.Event, error) {
	b := t.barrier(inst, OfRun(a.Run))
	switch {
	case b.Required == 0 && a.Required < 1:
		return nil, fmt.Errorf("instance %s: an arrival at %s, whose count is not known", inst.ID, inst.Core.RunName(a.Run))
	case b.Required != 0 && a.Required > 0 && int32(a.Required) != b.Required:
		return nil, fmt.Errorf("instance %s: %s requires %d arrivals in memory and %d in the program",
			inst.ID, inst.Core.RunName(a.Run), b.Required, a.Required)
	case a.Soft && b.Soft:
		return events, nil
	}
	t.count(b)
	if b.Required == 0 {
		b.Required = int32(a.Required)
	}
	b.Soft = b.Soft || a.Soft
	if b.Completed++; b.Completed > b.Required {
		return nil, fmt.Errorf("instance %s: arrival %d of %d at %s: %w",
			inst.ID, b.Completed, b.Required, inst.Core.RunName(a.Run), backend.ErrOverflow)
	}
	if a.Watched || b.Completed == b.Required {
		events = append(events, inst.Core.BarrierEvents(a.Run, int(b.Required), int(b.Completed-1), int(b.Completed))...)
	}
	return events, nil
}

func (t *Tx) enqueue(inst *Instance, e *plan.Enqueue) error {
	a := OfRun(e.Run)
	if _, there := inst.Runs.Get(a); there {
		return fmt.Errorf("instance %s: %s was enqueued before", inst.ID, inst.Core.RunName(e.Run))
	}
	for i := range e.Args {
		if ref := e.Args[i].Ref; ref != nil {
			if _, ok := inst.Slots.Get(OfSlot(*ref)); !ok {
				return fmt.Errorf("instance %s: an argument of %s refers to %s, which has no value",
					inst.ID, inst.Core.RunName(e.Run), backend.FormatSlot(*ref))
			}
		}
	}
	t.Space.Orders++
	r := &Run{Inst: inst, Key: e.Run, Action: e.Action, Args: e.Args, Order: t.Space.Orders, RunState: RunState{Place: Ready, Attempt: 1, Due: t.Now}}
	if e.After > 0 {
		r.Place, r.Due = Waiting, t.Now+int64(e.After)
		t.Timed = true
	}
	t.Grow(inst, r.size())
	t.addRun(a, r)
	return nil
}

// Retry queues a run with a failed attempt again, at once or after a pause.
func (t *Tx) Retry(r *Run, after time.Duration) {
	next := RunState{Place: Ready, Attempt: r.Attempt + 1, Due: t.Now}
	if after > 0 {
		next.Place, next.Due = Waiting, t.Now+int64(after)
	}
	t.Set(r, next)
}
