package dispatch

import "pulley/engine/backend"

// orders are those of the claims of a backlog, in turn. By time, nothing waits for ever behind what takes turns: an old node run of a
// workflow with many instances, or of an instance that had its turn, is handed out by its age.
var orders = [...]backend.Order{backend.ByWorkflow, backend.ByInstance, backend.ByTime}

// nextOrder returns the order of the next claim of a shard. Turns matter only where more waits than one claim takes. Urgent work goes before
// all of them.
func (m *Machine) nextOrder(s *shard) backend.Order {
	if !m.cfg.Fair || !s.more || !s.backlog || m.pressing > 0 {
		return backend.ByTime
	}
	s.turns++
	return orders[s.turns%len(orders)]
}
