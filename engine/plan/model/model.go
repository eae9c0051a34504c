// Package model applies plans in the plainest way: maps, without queues, undo or speed. Simulators and tests compare designs
// with it. It shares only the core with them, so that no mistake is made twice in the same way.
package model

import (
	"encoding/json"
	"maps"
	"slices"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Counter is a barrier's: 0 ≤ Completed ≤ Required (I2).
type Counter struct {
	Completed, Required int
	Soft                bool // one of the soft group has arrived
}

// Instance is the expected state of an instance. R is the caller's data of a node run.
type Instance[R any] struct {
	Program  *plan.Program
	Values   map[plan.Slot]json.RawMessage
	Appended map[plan.Slot][]plan.Append
	Elements map[graph.Run][]plan.Element
	Counters map[graph.Run]Counter
	Runs     map[graph.Run]R    // enqueued, and neither done nor cancelled
	Ever     map[graph.Run]bool // enqueued at any time (I1)
	Clears   []plan.Clear       // applied, until Clear

	Watch[R]
}

// Watch receives what happens. Only Wrong and Enqueued are required.
type Watch[R any] struct {
	Wrong     func(invariant, format string, args ...any)
	Enqueued  func(e *plan.Enqueue) R
	Arrived   func(run graph.Run, c Counter)
	Cancelled func(run graph.Run, r R, by plan.Clear)
}

// New makes an empty instance.
func New[R any](program *plan.Program, watch Watch[R]) *Instance[R] {
	return &Instance[R]{
		Program:  program,
		Values:   map[plan.Slot]json.RawMessage{},
		Appended: map[plan.Slot][]plan.Append{},
		Elements: map[graph.Run][]plan.Element{},
		Counters: map[graph.Run]Counter{},
		Runs:     map[graph.Run]R{},
		Ever:     map[graph.Run]bool{},
		Watch:    watch,
	}
}

// Inbox returns what an event needs.
func (m *Instance[R]) Inbox(ev plan.Event) plan.Inbox {
	needs := m.Program.Needs(ev)
	var in plan.Inbox
	if len(needs.Slots) > 0 {
		in.Values, in.Appended = map[plan.Slot]json.RawMessage{}, map[plan.Slot][]plan.Append{}
	}
	for _, slot := range needs.Slots {
		if v, ok := m.Values[slot]; ok {
			in.Values[slot], in.Appended[slot] = v, m.Appended[slot]
		}
	}
	if needs.Elements {
		in.Elements = m.Elements[ev.Run]
	}
	return in
}

// Step plans an event.
func (m *Instance[R]) Step(ev plan.Event, jitter float64) (plan.Plan, error) {
	return m.Program.Step(ev, m.Inbox(ev), jitter)
}

// Fixpoint applies a plan, and then the plans that step makes of its continuations, and finally clears. It returns the end to
// which they lead; nil: none.
func (m *Instance[R]) Fixpoint(p plan.Plan, step func(plan.Event) (plan.Plan, error)) (*plan.End, error) {
	events := m.ApplyPlan(&p)
	for p.End == nil && len(events) > 0 {
		var err error
		if p, err = step(events[0]); err != nil {
			return nil, err
		}
		events = append(events[1:], m.ApplyPlan(&p)...)
	}
	if p.End == nil {
		m.Clear()
	}
	return p.End, nil
}

// ApplyPlan applies a plan except its clears, and returns the events that follow.
func (m *Instance[R]) ApplyPlan(p *plan.Plan) []plan.Event {
	m.write(p)
	for _, e := range p.Elements {
		m.Elements[e.Barrier] = append(m.Elements[e.Barrier], e)
	}
	for _, o := range p.Opens {
		m.Counters[o.Run] = Counter{Required: o.Required}
	}
	var events []plan.Event
	for _, run := range p.Resumes {
		events = append(events, plan.Event{Run: run, Fired: true})
	}
	for _, a := range p.Arrivals {
		events = append(events, m.arrive(a)...)
	}
	for i := range p.Enqueues {
		e := &p.Enqueues[i]
		m.Enters(e.Run)
		m.Runs[e.Run] = m.Enqueued(e)
	}
	m.Clears = append(m.Clears, p.Clears...)
	return events
}

func (m *Instance[R]) write(p *plan.Plan) {
	for _, w := range p.Writes {
		if n := len(m.Appended[w.Slot]); n > 0 && !w.Drops {
			m.Wrong("I4", "variable %d at %q is written over, and %d values are appended to it", w.Slot.Var, w.Slot.Scope, n)
		}
		delete(m.Appended, w.Slot)
		if m.Values[w.Slot] = w.Value; w.Value == nil {
			delete(m.Values, w.Slot)
		}
	}
	for _, a := range p.Appends {
		if n := len(m.Appended[a.Slot]); m.Values[a.Slot] == nil || a.Index != n {
			m.Wrong("I4", "value %d is appended to variable %d at %q, which has %d", a.Index, a.Slot.Var, a.Slot.Scope, n)
		}
		m.Appended[a.Slot] = append(m.Appended[a.Slot], a)
	}
}

// Enters records that a run is enqueued.
func (m *Instance[R]) Enters(run graph.Run) {
	if m.Ever[run] {
		m.Wrong("I1", "%s was enqueued twice", m.Program.RunName(run))
	}
	m.Ever[run] = true
}

// arrive returns the events that follow.
func (m *Instance[R]) arrive(a plan.Arrival) []plan.Event {
	c, known := m.Counters[a.Run]
	if !known {
		c.Required = a.Required
	}
	if a.Soft && c.Soft {
		return nil
	}
	c.Soft = c.Soft || a.Soft
	if c.Completed++; c.Completed > c.Required {
		m.Wrong("I2", "%s has %d arrivals of %d", m.Program.RunName(a.Run), c.Completed, c.Required)
	}
	m.Counters[a.Run] = c
	if m.Arrived != nil {
		m.Arrived(a.Run, c)
	}
	events := m.Program.BarrierEvents(a.Run, c.Required, c.Completed-1, c.Completed)
	for _, ev := range events {
		if ev.Run != a.Run && !a.Watched {
			m.Wrong("I5", "%s continues from %s, whose arrivals nobody watches", m.Program.RunName(ev.Run), m.Program.RunName(a.Run))
		}
	}
	return events
}

// Forget removes an opened aggregate's barrier and elements.
func (m *Instance[R]) Forget(run graph.Run) {
	delete(m.Elements, run)
	delete(m.Counters, run)
}

// Clear applies the clears of the applied plans.
func (m *Instance[R]) Clear() {
	for _, c := range m.Clears {
		m.clear(c)
	}
	m.Clears = m.Clears[:0]
}

func (m *Instance[R]) clear(c plan.Clear) {
	what := m.Program.Cleared(c.Region)
	for run, r := range m.Runs {
		if slices.Contains(what.Runs, run.Node) && run.Path.Under(c.Path) {
			delete(m.Runs, run)
			if m.Cancelled != nil {
				m.Cancelled(run, r, c)
			}
		}
	}
	barrier := func(run graph.Run) bool { return slices.Contains(what.Barriers, run.Node) && run.Path.Under(c.Path) }
	maps.DeleteFunc(m.Counters, func(run graph.Run, _ Counter) bool { return barrier(run) })
	maps.DeleteFunc(m.Elements, func(run graph.Run, _ []plan.Element) bool { return barrier(run) })
	value := func(s plan.Slot) bool { return slices.Contains(what.Vars, s.Var) && s.Scope.Under(c.Path) }
	maps.DeleteFunc(m.Values, func(s plan.Slot, _ json.RawMessage) bool { return value(s) })
	maps.DeleteFunc(m.Appended, func(s plan.Slot, _ []plan.Append) bool { return value(s) })
}
