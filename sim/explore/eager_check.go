package explore

import (
	"encoding/json"

	"pulley/engine/graph"
	"pulley/engine/plan/model"
)

// committed implements store: what is stored of an instance that runs is what its twin has (I1, I2, I4, I6).
func (s *eagerStore) committed(t *twin) {
	inst := t.inst
	if t.end != nil || !inst.taken {
		return
	}
	id := int32(inst.index)
	runs, counters := 0, 0
	s.nodes.CommittedFrom(runKey{inst: id, node: math32}, func(k runKey, r nodeRow) bool {
		if k.inst != id {
			return false
		}
		run := runOf(k.node, r.path)
		if r.open() {
			runs++
		}
		s.compareRun(t, run, r)
		c, counts := t.Counters[run]
		if counts {
			counters++
			s.compareCounter(t, run, r, c)
		} else if r.satisfied > 0 && !r.completed && t.Runs[run] == nil {
			t.wrong("I2", "%s has %d arrivals; it should have none", t.name(run), r.satisfied)
		}
		return true
	})
	if runs != len(t.Runs) {
		t.wrong("I2", "%d node runs are ready or at work; there should be %d: %s", runs, len(t.Runs), t.describe())
	}
	if counters != len(t.Counters) {
		t.wrong("I2", "%d barriers have counters; there should be %d", counters, len(t.Counters))
	}
	t.holdsValues(storedValues(t, id, s.context, func(v json.RawMessage) []byte { return v }))
	s.compareElements(t, id)
}

func (s *eagerStore) compareRun(t *twin, run graph.Run, r nodeRow) {
	is := t.Runs[run]
	switch {
	case !r.open() && is != nil:
		t.wrong("I2", "%s is to be run, and its row does not say so", t.name(run))
	case !r.open():
	case is == nil:
		t.wrong("I10", "%s is ready or at work, and was done, called off or never enqueued", t.name(run))
	case is.attempt != int(r.attempt):
		t.wrong("I4", "%s is stored as attempt %d; it is at attempt %d", t.name(run), r.attempt, is.attempt)
	case is.token > r.token:
		t.wrong("I11", "%s is stored with token %d; its last lease has %d", t.name(run), r.token, is.token)
	case !r.ready():
		t.wrong("I2", "%s is enqueued with %d arrivals of %d", t.name(run), r.satisfied, r.required)
	}
}

func (s *eagerStore) compareCounter(t *twin, run graph.Run, r nodeRow, c model.Counter) {
	if int(r.satisfied) != c.Completed || int(r.required) != c.Required || r.soft != c.Soft {
		t.wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", t.name(run), r.satisfied, r.required, c.Completed, c.Required)
	}
}

func (s *eagerStore) compareElements(t *twin, id int32) {
	elements, want := 0, 0
	s.pending.CommittedFrom(valueKey{inst: id, id: math32}, func(k valueKey, v json.RawMessage) bool {
		if k.inst != id {
			return false
		}
		if elements++; !t.collected(graph.NodeID(k.id), int(k.element), v) {
			t.wrong("I6", "element %d of an aggregate is stored as %.60q; it was not pushed there", k.element, v)
		}
		return true
	})
	for _, list := range t.Elements {
		want += len(list)
	}
	if elements != want {
		t.wrong("I6", "%d elements are stored; there should be %d", elements, want)
	}
}
