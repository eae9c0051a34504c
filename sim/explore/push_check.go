package explore

import (
	"encoding/json"

	"pulley/engine/graph"
)

// committed implements store: what is stored of an instance that runs is what its twin has (I1, I2, I4, I6).
func (s *pushStore) committed(t *twin) {
	inst := t.inst
	if t.end != nil || !inst.taken {
		return
	}
	id := int32(inst.index)
	n := 0
	s.queue.CommittedFrom(runKey{inst: id, node: math32}, func(k runKey, q queued) bool {
		if k.inst != id {
			return false
		}
		n++
		r := t.Runs[k.run()]
		switch {
		case r == nil:
			t.wrong("I10", "%s is queued, and was done, called off or never enqueued", t.name(k.run()))
		case r.attempt != int(q.attempt):
			t.wrong("I4", "%s is queued as attempt %d; it is at attempt %d", t.name(k.run()), q.attempt, r.attempt)
		case r.token > q.token:
			t.wrong("I11", "%s is queued with token %d; its last lease has %d", t.name(k.run()), q.token, r.token)
		}
		return true
	})
	if n != len(t.Runs) {
		t.wrong("I2", "%d node runs are queued; there should be %d: %s", n, len(t.Runs), t.describe())
	}
	n = 0
	s.readiness.CommittedFrom(runKey{inst: id, node: math32}, func(k runKey, r readiness) bool {
		if k.inst != id {
			return false
		}
		n++
		if c := t.Counters[k.run()]; c.Completed != int(r.completed) || c.Required != int(r.required) || c.Soft != r.soft {
			t.wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", t.name(k.run()), r.completed, r.required, c.Completed, c.Required)
		}
		return true
	})
	if n != len(t.Counters) {
		t.wrong("I2", "%d barriers have counters; there should be %d", n, len(t.Counters))
	}
	t.holdsValues(storedValues(t, id, s.inbox, func(v json.RawMessage) []byte { return v }))
	s.compareElements(t, id)
}

func (s *pushStore) compareElements(t *twin, id int32) {
	elements := 0
	s.elements.CommittedFrom(valueKey{inst: id, id: math32}, func(k valueKey, c collected) bool {
		if k.inst != id {
			return false
		}
		elements += len(c.places)
		if len(t.Elements[graph.Run{Node: graph.NodeID(k.id), Path: graph.Path(k.path)}]) == 0 {
			t.wrong("I6", "elements are stored of an aggregate that has none")
		}
		return true
	})
	want := 0
	for _, list := range t.Elements {
		want += len(list)
	}
	if elements != want {
		t.wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}
