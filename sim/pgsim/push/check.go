package push

import (
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// Committed implements judge.Tables: the stored rows of a running instance equal its model (I1, I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	id := int32(m.Inst.Index)
	n := 0
	pgsim.CommittedOf(s.queue.Table, id, func(k pgsim.RunKey, q queued) {
		n++
		r := m.Runs[k.Run()]
		switch {
		case r == nil:
			m.Wrong("I10", "%s is queued, and was done, cancelled or never enqueued", m.Name(k.Run()))
		case r.Attempt != int(q.Attempt):
			m.Wrong("I4", "%s is queued as attempt %d; it is at attempt %d", m.Name(k.Run()), q.Attempt, r.Attempt)
		case r.Token > q.Token:
			m.Wrong("I11", "%s is queued with token %d; its last lease has %d", m.Name(k.Run()), q.Token, r.Token)
		}
	})
	if n != len(m.Runs) {
		m.Wrong("I2", "%d node runs are queued; there should be %d: %s", n, len(m.Runs), m.Describe())
	}
	n = 0
	pgsim.CommittedOf(s.readiness, id, func(k pgsim.RunKey, r readiness) {
		n++
		if c := m.Counters[k.Run()]; c.Completed != int(r.completed) || c.Required != int(r.required) || c.Soft != r.soft {
			m.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", m.Name(k.Run()), r.completed, r.required, c.Completed, c.Required)
		}
	})
	if n != len(m.Counters) {
		m.Wrong("I2", "%d barriers have counters; there should be %d", n, len(m.Counters))
	}
	m.CheckValues(pgsim.StoredValues(m, id, s.inbox))
	n = 0
	pgsim.CommittedOf(s.elements, id, func(k pgsim.ValueKey, c collected) {
		n += len(c.places)
		if len(m.Elements[pgsim.RunOf(k.ID, k.Path)]) == 0 {
			m.Wrong("I6", "elements are stored of an aggregate that has none")
		}
	})
	m.CheckElements(n)
}
