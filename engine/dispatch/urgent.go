package dispatch

import "pulley/engine/backend"

// press notes the priority of the work that is ready in a shard of the store, as far as it is known to be urgent; zero: it is not.
func (m *Machine) press(s *shard, priority int) {
	was := s.pressing
	s.pressing = priority
	switch {
	case priority >= m.pressing:
		m.pressing = priority
	case was == m.pressing: // it may have been the only one
		m.pressing = 0
		for i := range m.shards {
			m.pressing = max(m.pressing, m.shards[i].pressing)
		}
	}
}

// leastOf returns the least priority that a claim brought, if more waits in the store: what is still there is at most as urgent.
func leastOf(claimed *backend.Committed) int {
	if !claimed.More || len(claimed.Tasks) == 0 {
		return 0
	}
	least := backend.PriorityOf(claimed.Tasks[0].Program)
	for i := range claimed.Tasks {
		least = min(least, backend.PriorityOf(claimed.Tasks[i].Program))
	}
	return least
}

// keepForUrgent keeps what a write makes ready from capacity that urgent work in the store needs, unless it is as urgent.
func (m *Machine) keepForUrgent(grant *backend.Grant, hasUrgent bool) {
	if grant.Priority = m.pressing; !hasUrgent {
		grant.Max = 0
	}
}
