package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
)

// twin is what one instance should look like: plans obeyed on maps. It shares the core with the
// store, and nothing of how the store keeps things.
type twin struct {
	w        *world
	inst     *instance
	program  *plan.Program
	values   map[plan.Slot]json.RawMessage
	appended map[plan.Slot][]plan.Append
	elements map[graph.Run][]plan.Element
	counters map[graph.Run]*counter
	known    map[graph.Run]bool // enqueued, ever (I1)
	done     map[graph.Run]bool // their last attempt was applied (I3, I8)
	open     map[graph.Run]bool // enqueued and neither
	off      map[graph.Run]bool // called off before they were done (I10)
	end      *plan.End
	canceled bool // from outside
}

// counter is a barrier's: 0 ≤ completed ≤ required (I2).
type counter struct {
	completed, required int
	soft                bool // one of the soft group has arrived
}

func newTwin(w *world, inst *instance, program *plan.Program) *twin {
	return &twin{
		w: w, inst: inst, program: program,
		values:   map[plan.Slot]json.RawMessage{},
		appended: map[plan.Slot][]plan.Append{},
		elements: map[graph.Run][]plan.Element{},
		counters: map[graph.Run]*counter{},
		known:    map[graph.Run]bool{},
		done:     map[graph.Run]bool{},
		open:     map[graph.Run]bool{},
		off:      map[graph.Run]bool{},
	}
}

// start is the submission that the store took.
func (t *twin) start(input json.RawMessage) {
	p, err := t.program.Start(input)
	if err != nil {
		t.wrong("I7", "the store took an input that the core refuses: %v", err)
		return
	}
	t.settle(p)
}

// complete is a completion that the store applied, and says whether its run is tried again. The
// jitter is that which the store was given.
func (t *twin) complete(c backend.Completion, jitter float64) (again bool) {
	run := c.Lease.Key.Run
	switch {
	case t.end != nil:
		t.wrong("I7", "%s was applied after the end", t.program.RunName(run))
		return false
	case !t.known[run]:
		t.wrong("I1", "%s was applied and never enqueued", t.program.RunName(run))
		return false
	case t.done[run]:
		t.wrong("I3", "%s was applied twice", t.program.RunName(run))
		return false
	case t.off[run]:
		t.wrong("I3", "%s was applied after it was called off", t.program.RunName(run))
		return false
	}
	p, err := t.step(plan.Event{Run: run, Attempt: c.Attempt, Result: c.Result, Failure: c.Failure}, jitter)
	if err != nil {
		t.wrong("I3", "the store applied what the core refuses: %v", err)
		return false
	}
	if p.Retry != nil {
		t.w.becomes(c.Lease.Key, t.w.now+p.Retry.After)
		return true
	}
	t.done[run] = true
	delete(t.open, run)
	t.w.leaves(c.Lease.Key) // of a sleep, which nobody starts
	t.settle(p)
	return false
}

// leased is a lease that the store gave.
func (t *twin) leased(run graph.Run) {
	switch {
	case t.end != nil:
		t.wrong("I10", "%s was leased after the end", t.program.RunName(run))
	case !t.known[run]:
		t.wrong("I1", "%s was leased and never enqueued", t.program.RunName(run))
	case t.done[run]:
		t.wrong("I8", "%s was leased again after it was done", t.program.RunName(run))
	case t.off[run]:
		t.wrong("I10", "%s was leased after it was called off", t.program.RunName(run))
	case t.w.ready[t.key(run)].at > t.w.now:
		t.wrong("I2", "%s was leased before it was due", t.program.RunName(run))
	}
}

func (t *twin) step(ev plan.Event, jitter float64) (plan.Plan, error) {
	needs := t.program.Needs(ev)
	in := plan.Inbox{Values: map[plan.Slot]json.RawMessage{}, Appended: map[plan.Slot][]plan.Append{}}
	for _, slot := range needs.Slots {
		if v, ok := t.values[slot]; ok {
			in.Values[slot], in.Appended[slot] = v, t.appended[slot]
		}
	}
	if needs.Elements {
		in.Elements = t.elements[ev.Run]
	}
	return t.program.Step(ev, in, jitter)
}

// settle obeys a plan and those of the events that follow, and then clears.
func (t *twin) settle(p plan.Plan) {
	clears := p.Clears
	events := t.obey(p)
	for t.end == nil && len(events) > 0 {
		ev := events[0]
		p, err := t.step(ev, 0)
		if err != nil {
			t.wrong("I2", "%s goes on, and the core refuses that: %v", t.program.RunName(ev.Run), err)
			return
		}
		events = append(events[1:], t.obey(p)...)
		clears = append(clears, p.Clears...)
	}
	if t.end == nil {
		for _, c := range clears {
			t.clear(c)
		}
	}
}

// obey makes a plan's changes but for its clears, and gives the events that follow.
func (t *twin) obey(p plan.Plan) []plan.Event {
	for _, w := range p.Writes {
		if t.values[w.Slot] = w.Value; w.Value == nil {
			delete(t.values, w.Slot)
		}
		delete(t.appended, w.Slot)
	}
	for _, a := range p.Appends {
		t.appended[a.Slot] = append(t.appended[a.Slot], a)
	}
	for _, e := range p.Elements {
		t.elements[e.Barrier] = append(t.elements[e.Barrier], e)
	}
	for _, o := range p.Opens {
		t.counters[o.Run] = &counter{required: o.Required}
	}
	var events []plan.Event
	for _, run := range p.Resumes {
		events = append(events, plan.Event{Run: run, Fired: true})
	}
	for _, a := range p.Arrivals {
		events = append(events, t.arrive(a)...)
	}
	for _, e := range p.Enqueues {
		t.enqueue(e.Run)
		t.open[e.Run] = true
		t.w.becomes(t.key(e.Run), t.w.now+e.After)
	}
	if p.End != nil {
		t.finish(p.End)
	}
	return events
}

// clear forgets what stands under a path, and calls off what is not done there.
func (t *twin) clear(c plan.Clear) {
	what := t.program.Cleared(c.Region)
	for run := range t.open {
		if slices.Contains(what.Runs, run.Node) && run.Path.Under(c.Path) {
			t.off[run] = true
			delete(t.open, run)
			t.w.leaves(t.key(run))
		}
	}
	barrier := func(run graph.Run) bool { return slices.Contains(what.Barriers, run.Node) && run.Path.Under(c.Path) }
	maps.DeleteFunc(t.counters, func(run graph.Run, _ *counter) bool { return barrier(run) })
	maps.DeleteFunc(t.elements, func(run graph.Run, _ []plan.Element) bool { return barrier(run) })
	value := func(s plan.Slot) bool { return slices.Contains(what.Vars, s.Var) && s.Scope.Under(c.Path) }
	maps.DeleteFunc(t.values, func(s plan.Slot, _ json.RawMessage) bool { return value(s) })
	maps.DeleteFunc(t.appended, func(s plan.Slot, _ []plan.Append) bool { return value(s) })
}

// arrive counts an arrival and gives the events that follow from it.
func (t *twin) arrive(a plan.Arrival) []plan.Event {
	c := t.counters[a.Run]
	if c == nil {
		c = &counter{required: a.Required}
		t.counters[a.Run] = c
	}
	if a.Soft && c.soft {
		return nil
	}
	c.soft = c.soft || a.Soft
	c.completed++
	if c.completed > c.required {
		t.wrong("I2", "%s has %d arrivals of %d", t.program.RunName(a.Run), c.completed, c.required)
	}
	ev := t.w.of(oracle.Arrived, t.inst, a.Run)
	ev.Completed, ev.Required = c.completed, c.required
	t.w.record(ev)
	switch kind := t.program.Graph().Nodes[a.Run.Node].Kind; {
	case c.completed != c.required, kind == graph.Action, kind == graph.Sleep:
	default:
		t.enqueue(a.Run) // it runs at once, within the same commit
	}
	return t.program.Reached(a.Run, c.required, c.completed-1, c.completed)
}

func (t *twin) enqueue(run graph.Run) {
	if t.known[run] {
		t.wrong("I1", "%s was enqueued twice", t.program.RunName(run))
	}
	t.known[run] = true
	t.w.record(t.w.of(oracle.Enqueued, t.inst, run))
}

// cancel ends it from outside, if it runs.
func (t *twin) cancel(reason string) {
	if t.end == nil {
		t.canceled = true
		t.finish(&plan.End{Failure: &plan.Failure{Type: backend.CanceledType, Message: reason}})
	}
}

// finish ends it. What is ready then is started no more.
func (t *twin) finish(end *plan.End) {
	t.end = end
	for run := range t.open { // in any order: all of it happens at once
		t.w.leaves(t.key(run))
	}
}

func (t *twin) key(run graph.Run) backend.Key { return backend.Key{Instance: t.inst.id, Run: run} }

// status is that of the end.
func (t *twin) status() backend.Status {
	switch {
	case t.canceled:
		return backend.Canceled
	case t.end.Failure != nil:
		return backend.Failed
	}
	return backend.Completed
}

// ended holds the store's end against the twin's.
func (t *twin) ended(inst backend.Instance) {
	switch {
	case t.end == nil:
		t.wrong("I7", "the store ended it, and it has not ended")
	case t.status() != inst.Status, string(t.end.Result) != string(inst.Result):
		t.wrong("I7", "the store ended it as %s with %s, and not as %s with %s", inst.Status, brief(inst.Result), t.status(), brief(t.end.Result))
	}
}

func (t *twin) wrong(invariant, format string, args ...any) {
	t.w.violate("%s: instance %d: %s", invariant, t.inst.index, fmt.Sprintf(format, args...))
}

// brief shortens a value for a message.
func brief(v json.RawMessage) string {
	const most = 120
	if len(v) <= most {
		return string(v)
	}
	return fmt.Sprintf("%q… (%d bytes)", v[:most], len(v))
}
