package push

import (
	"encoding/json"

	"pulley/engine/graph"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// Committed implements store: what is stored of an instance that runs is what its model has (I1, I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	inst := m.Inst
	if m.End != nil || !inst.Taken {
		return
	}
	id := int32(inst.Index)
	n := 0
	s.queue.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, q queued) bool {
		if k.Inst != id {
			return false
		}
		n++
		r := m.Runs[k.Run()]
		switch {
		case r == nil:
			m.Wrong("I10", "%s is queued, and was done, cancelled or never enqueued", m.Name(k.Run()))
		case r.Attempt != int(q.attempt):
			m.Wrong("I4", "%s is queued as attempt %d; it is at attempt %d", m.Name(k.Run()), q.attempt, r.Attempt)
		case r.Token > q.token:
			m.Wrong("I11", "%s is queued with token %d; its last lease has %d", m.Name(k.Run()), q.token, r.Token)
		}
		return true
	})
	if n != len(m.Runs) {
		m.Wrong("I2", "%d node runs are queued; there should be %d: %s", n, len(m.Runs), m.Describe())
	}
	n = 0
	s.readiness.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, r readiness) bool {
		if k.Inst != id {
			return false
		}
		n++
		if c := m.Counters[k.Run()]; c.Completed != int(r.completed) || c.Required != int(r.required) || c.Soft != r.soft {
			m.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", m.Name(k.Run()), r.completed, r.required, c.Completed, c.Required)
		}
		return true
	})
	if n != len(m.Counters) {
		m.Wrong("I2", "%d barriers have counters; there should be %d", n, len(m.Counters))
	}
	m.HoldsValues(pgsim.StoredValues(m, id, s.inbox, func(v json.RawMessage) []byte { return v }))
	s.compareElements(m, id)
}

func (s *Store) compareElements(m *judge.Model, id int32) {
	elements := 0
	s.elements.CommittedFrom(pgsim.ValueKey{Inst: id, ID: pgsim.FirstID}, func(k pgsim.ValueKey, c collected) bool {
		if k.Inst != id {
			return false
		}
		elements += len(c.places)
		if len(m.Elements[graph.Run{Node: graph.NodeID(k.ID), Path: graph.Path(k.Path)}]) == 0 {
			m.Wrong("I6", "elements are stored of an aggregate that has none")
		}
		return true
	})
	want := 0
	for _, list := range m.Elements {
		want += len(list)
	}
	if elements != want {
		m.Wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}
