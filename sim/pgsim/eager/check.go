package eager

import (
	"encoding/json"

	"pulley/engine/graph"
	"pulley/engine/plan/model"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
)

// Committed implements store: what is stored of an instance that runs is what its twin has (I1, I2, I4, I6).
func (s *Store) Committed(t *judge.Twin) {
	inst := t.Inst
	if t.End != nil || !inst.Taken {
		return
	}
	id := int32(inst.Index)
	runs, counters := 0, 0
	s.nodes.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, r nodeRow) bool {
		if k.Inst != id {
			return false
		}
		run := pgsim.RunOf(k.Node, r.path)
		if r.open() {
			runs++
		}
		s.compareRun(t, run, r)
		c, counts := t.Counters[run]
		if counts {
			counters++
			s.compareCounter(t, run, r, c)
		} else if r.satisfied > 0 && !r.completed && t.Runs[run] == nil {
			t.Wrong("I2", "%s has %d arrivals; it should have none", t.Name(run), r.satisfied)
		}
		return true
	})
	if runs != len(t.Runs) {
		t.Wrong("I2", "%d node runs are ready or at work; there should be %d: %s", runs, len(t.Runs), t.Describe())
	}
	if counters != len(t.Counters) {
		t.Wrong("I2", "%d barriers have counters; there should be %d", counters, len(t.Counters))
	}
	t.HoldsValues(pgsim.StoredValues(t, id, s.context, func(v json.RawMessage) []byte { return v }))
	s.compareElements(t, id)
}

func (s *Store) compareRun(t *judge.Twin, run graph.Run, r nodeRow) {
	is := t.Runs[run]
	switch {
	case !r.open() && is != nil:
		t.Wrong("I2", "%s is to be run, and its row does not say so", t.Name(run))
	case !r.open():
	case is == nil:
		t.Wrong("I10", "%s is ready or at work, and was done, cancelled or never enqueued", t.Name(run))
	case is.Attempt != int(r.attempt):
		t.Wrong("I4", "%s is stored as attempt %d; it is at attempt %d", t.Name(run), r.attempt, is.Attempt)
	case is.Token > r.token:
		t.Wrong("I11", "%s is stored with token %d; its last lease has %d", t.Name(run), r.token, is.Token)
	case !r.ready():
		t.Wrong("I2", "%s is enqueued with %d arrivals of %d", t.Name(run), r.satisfied, r.required)
	}
}

func (s *Store) compareCounter(t *judge.Twin, run graph.Run, r nodeRow, c model.Counter) {
	if int(r.satisfied) != c.Completed || int(r.required) != c.Required || r.soft != c.Soft {
		t.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", t.Name(run), r.satisfied, r.required, c.Completed, c.Required)
	}
}

func (s *Store) compareElements(t *judge.Twin, id int32) {
	elements, want := 0, 0
	s.pending.CommittedFrom(pgsim.ValueKey{Inst: id, ID: pgsim.FirstID}, func(k pgsim.ValueKey, v json.RawMessage) bool {
		if k.Inst != id {
			return false
		}
		if elements++; !t.Collected(graph.NodeID(k.ID), int(k.Element), v) {
			t.Wrong("I6", "element %d of an aggregate is stored as %.60q; it was not pushed there", k.Element, v)
		}
		return true
	})
	for _, list := range t.Elements {
		want += len(list)
	}
	if elements != want {
		t.Wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}
