package eager

import (
	"encoding/json"

	"pulley/engine/graph"
	"pulley/engine/plan/model"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// Committed implements judge.Tables: the stored rows of a running instance equal its model (I1, I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	id := int32(m.Inst.Index)
	runs, counters, elements := 0, 0, 0
	pgsim.CommittedOf(s.nodes.Table, id, func(k pgsim.RunKey, r nodeRow) {
		run := r.Run(k)
		if r.open() {
			runs++
		}
		s.compareRun(m, run, &r)
		c, counts := m.Counters[run]
		if counts {
			counters++
			s.compareCounter(m, run, &r, c)
		} else if r.satisfied > 0 && !r.completed && m.Runs[run] == nil {
			m.Wrong("I2", "%s has %d arrivals; it should have none", m.Name(run), r.satisfied)
		}
	})
	if runs != len(m.Runs) {
		m.Wrong("I2", "%d node runs are ready or at work; there should be %d: %s", runs, len(m.Runs), m.Describe())
	}
	if counters != len(m.Counters) {
		m.Wrong("I2", "%d barriers have counters; there should be %d", counters, len(m.Counters))
	}
	m.CheckValues(pgsim.StoredValues(m, id, s.context))
	pgsim.CommittedOf(s.pending, id, func(k pgsim.ValueKey, v json.RawMessage) {
		if elements++; !m.Collected(graph.NodeID(k.ID), int(k.Element), v) {
			m.Wrong("I6", "element %d of an aggregate is stored as %.60q; it was not pushed there", k.Element, v)
		}
	})
	m.CheckElements(elements)
}

func (s *Store) compareRun(m *judge.Model, run graph.Run, r *nodeRow) {
	is := m.Runs[run]
	switch {
	case !r.open() && is != nil:
		m.Wrong("I2", "%s is to be run, and its row does not say so", m.Name(run))
	case !r.open():
	case is == nil:
		m.Wrong("I10", "%s is ready or at work, and was done, cancelled or never enqueued", m.Name(run))
	case is.Attempt != int(r.Attempt):
		m.Wrong("I4", "%s is stored as attempt %d; it is at attempt %d", m.Name(run), r.Attempt, is.Attempt)
	case is.Token > r.Token:
		m.Wrong("I11", "%s is stored with token %d; its last lease has %d", m.Name(run), r.Token, is.Token)
	case !r.Ready():
		m.Wrong("I2", "%s is enqueued with %d arrivals of %d", m.Name(run), r.satisfied, r.required)
	}
}

func (s *Store) compareCounter(m *judge.Model, run graph.Run, r *nodeRow, c model.Counter) {
	if int(r.satisfied) != c.Completed || int(r.required) != c.Required || r.soft != c.Soft {
		m.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", m.Name(run), r.satisfied, r.required, c.Completed, c.Required)
	}
}
