package dispatch

import (
	"pulley/engine/backend"
	"pulley/engine/plan"
)

func priorityOf(p *plan.Program) int {
	if p == nil {
		return 0
	}
	return p.Priority()
}

// press notes the priority of the work that is ready in a shard of the store, as far as it is known to be urgent; zero: it is not.
func (m *Machine) press(s *shard, priority int) {
	if s.pressing > 0 {
		m.pressed--
	}
	if s.pressing = priority; priority > 0 {
		m.pressed++
	}
}

// pressing returns the highest priority of work that is ready in the store, as far as it is known.
func (m *Machine) pressing() (highest int) {
	if m.pressed == 0 {
		return 0
	}
	for i := range m.shards {
		highest = max(highest, m.shards[i].pressing)
	}
	return highest
}

// leastOf returns the least priority that a claim brought, if more waits in the store: what is still there is at most as urgent.
func leastOf(claimed *backend.Committed) int {
	if !claimed.More || len(claimed.Tasks) == 0 {
		return 0
	}
	least := priorityOf(claimed.Tasks[0].Program)
	for i := range claimed.Tasks {
		least = min(least, priorityOf(claimed.Tasks[i].Program))
	}
	return least
}

// keepForUrgent keeps what a write makes ready from capacity that urgent work in the store needs, unless it is as urgent.
func (m *Machine) keepForUrgent(grant *backend.Grant, hasUrgent bool) {
	if m.pressed == 0 {
		return
	}
	grant.Priority = m.pressing()
	if !hasUrgent {
		grant.Max = 0
	}
}
