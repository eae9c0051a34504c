package judge

import (
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/world"
)

// The model plans for a design that does not note its plans.

// think plans an event and its continuations.
func (m *Model) think(h *Event) {
	if h.Creates {
		if m.NotStarted = true; !h.BegunLater {
			m.create()
		}
		return
	}
	m.create()
	r := m.Runs[h.Run]
	if h.Retried {
		m.retry(h, r)
		return
	}
	p, ok := m.step(plan.Event{Run: h.Run, Attempt: r.Attempt, Result: h.Result, Failure: h.Failure})
	if !ok {
		return
	}
	if p.Retry != nil {
		m.Wrong("I4", "%s was taken as ended by attempt %d, and is to be tried again", m.Name(h.Run), r.Attempt)
		return
	}
	delete(m.Runs, h.Run)
	m.applyPlan(&p)
	m.planContinuations()
}

// create starts an instance that was stored to be started later.
func (m *Model) create() {
	if !m.NotStarted {
		return
	}
	m.NotStarted = false
	p, err := m.World.Workload.Start()
	if err != nil {
		m.Wrong("I12", "it cannot begin: %v", err)
		return
	}
	m.applyPlan(p)
	m.planContinuations()
}

func (m *Model) retry(h *Event, r *runModel) {
	m.World.Note(world.Retried, m.Inst.Index, int64(h.Run.Node), h.Token, 0)
	r.again()
}

func (m *Model) step(ev plan.Event) (plan.Plan, bool) {
	in := m.Inbox(ev)
	if m.Program.Needs(ev).Elements {
		m.Forget(ev.Run)
	}
	p, err := m.World.Workload.Compiled.Step(ev, in, 0)
	if err != nil {
		m.Wrong("I12", "%s cannot be planned: %v", m.Name(ev.Run), err)
	}
	return p, err == nil
}

// planContinuations plans the continuations one after another, then clears ended scopes.
func (m *Model) planContinuations() {
	for len(m.continuations) > 0 && m.ending == nil {
		run := m.continuations[0]
		m.continuations = m.continuations[1:]
		p, ok := m.step(plan.Event{Run: run, Fired: true})
		if !ok {
			break
		}
		m.applyPlan(&p)
	}
	if m.ending == nil {
		m.Clear()
	}
	m.continuations, m.Clears = nil, m.Clears[:0]
}

// Granted checks a lease that an owner granted in memory.
func (j *Judge) Granted(inst *world.Instance, run graph.Run, token int64, attempt, deliveries int) {
	j.w.Note(world.Leased, inst.Index, int64(run.Node), token, int64(attempt))
	m := j.model(inst)
	m.create()
	r := m.Runs[run]
	if j.clocks && (m.End != nil || r == nil || token < r.Token) {
		return // the owner cannot know that it lost the shard; later use of the lease is fenced
	}
	if j.clocks && r != nil && m.End == nil && r.waits {
		r.leases = min(r.leases, deliveries-1) // a new owner assumes that a wait that is not over by its clock was never leased
	}
	m.leased(run, token, attempt, deliveries)
}

// LeaseReturned notes a lease returned to an owner in memory; left deliveries of the attempt count.
func (j *Judge) LeaseReturned(inst *world.Instance, run graph.Run, left int) {
	j.w.Note(world.ReturnsLease, inst.Index, int64(run.Node), 0, 0)
	if r := j.model(inst).Runs[run]; r != nil {
		r.leases, r.Deliveries = min(r.leases, left), left
	}
}
