package push

import (
	"encoding/json"

	"pulley/engine/graph"
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
	n := 0
	s.queue.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, q queued) bool {
		if k.Inst != id {
			return false
		}
		n++
		r := t.Runs[k.Run()]
		switch {
		case r == nil:
			t.Wrong("I10", "%s is queued, and was done, cancelled or never enqueued", t.Name(k.Run()))
		case r.Attempt != int(q.attempt):
			t.Wrong("I4", "%s is queued as attempt %d; it is at attempt %d", t.Name(k.Run()), q.attempt, r.Attempt)
		case r.Token > q.token:
			t.Wrong("I11", "%s is queued with token %d; its last lease has %d", t.Name(k.Run()), q.token, r.Token)
		}
		return true
	})
	if n != len(t.Runs) {
		t.Wrong("I2", "%d node runs are queued; there should be %d: %s", n, len(t.Runs), t.Describe())
	}
	n = 0
	s.readiness.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, r readiness) bool {
		if k.Inst != id {
			return false
		}
		n++
		if c := t.Counters[k.Run()]; c.Completed != int(r.completed) || c.Required != int(r.required) || c.Soft != r.soft {
			t.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", t.Name(k.Run()), r.completed, r.required, c.Completed, c.Required)
		}
		return true
	})
	if n != len(t.Counters) {
		t.Wrong("I2", "%d barriers have counters; there should be %d", n, len(t.Counters))
	}
	t.HoldsValues(pgsim.StoredValues(t, id, s.inbox, func(v json.RawMessage) []byte { return v }))
	s.compareElements(t, id)
}

func (s *Store) compareElements(t *judge.Twin, id int32) {
	elements := 0
	s.elements.CommittedFrom(pgsim.ValueKey{Inst: id, ID: pgsim.FirstID}, func(k pgsim.ValueKey, c collected) bool {
		if k.Inst != id {
			return false
		}
		elements += len(c.places)
		if len(t.Elements[graph.Run{Node: graph.NodeID(k.ID), Path: graph.Path(k.Path)}]) == 0 {
			t.Wrong("I6", "elements are stored of an aggregate that has none")
		}
		return true
	})
	want := 0
	for _, list := range t.Elements {
		want += len(list)
	}
	if elements != want {
		t.Wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}
