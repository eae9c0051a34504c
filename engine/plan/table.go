package plan

import (
	"slices"

	"pulley/engine/graph"
)

// fewMost is up to how many values are searched one by one: most traversals know a handful.
const fewMost = 12

// table holds the values that a traversal knows, by slot. A value keeps its place for the table's life.
type table struct {
	few   []entry
	many  map[Slot]*value // beyond fewMost, all of them
	first [fewMost]value  // where the first ones stand
	used  int             // of first
	room  []value         // for those after them
	again *value          // the place of what was removed last; nil: none is free
}

// clear makes every slot unknown, and keeps the memory of a few.
func (t *table) clear() {
	clear(t.few)
	clear(t.first[:t.used])
	t.few, t.many, t.used, t.room, t.again = t.few[:0], nil, 0, nil, nil
}

type entry struct {
	slot  Slot
	value *value
}

// get gives what is known of a slot, nil: nothing.
func (t *table) get(slot Slot) *value {
	if t.many != nil {
		return t.many[slot]
	}
	for i := range t.few {
		if t.few[i].slot == slot {
			return t.few[i].value
		}
	}
	return nil
}

// put makes a value known under a slot in the place of what was there, and gives where it stands.
func (t *table) put(slot Slot, v value) *value {
	known := t.get(slot)
	if known == nil {
		known = t.add(slot)
	}
	*known = v
	return known
}

func (t *table) add(slot Slot) *value {
	v := t.place()
	switch {
	case t.many != nil:
		t.many[slot] = v
	case len(t.few) < fewMost:
		t.few = append(t.few, entry{slot, v})
	default:
		t.many = make(map[Slot]*value, 2*fewMost)
		for _, e := range t.few {
			t.many[e.slot] = e.value
		}
		t.many[slot] = v
	}
	return v
}

// place gives room for one more value.
func (t *table) place() *value {
	switch {
	case t.again != nil:
		v := t.again
		t.again = nil
		return v
	case t.used < fewMost:
		t.used++
		return &t.first[t.used-1]
	case len(t.room) == 0:
		t.room = make([]value, fewMost)
	}
	v := &t.room[0]
	t.room = t.room[1:]
	return v
}

// remove makes a slot unknown. The next one that becomes known takes the value's place.
func (t *table) remove(slot Slot) {
	known := t.get(slot)
	if known == nil {
		return
	}
	*known = value{}
	t.again = known
	if t.many != nil {
		delete(t.many, slot)
		return
	}
	t.few = slices.DeleteFunc(t.few, func(e entry) bool { return e.slot == slot })
}

// nodeSet is a set of nodes; there are never more than the graph has frontiers.
type nodeSet []graph.NodeID

func (s *nodeSet) add(id graph.NodeID) {
	for i := len(*s) - 1; i >= 0; i-- { // most often it was the last
		if (*s)[i] == id {
			return
		}
	}
	*s = append(*s, id)
}
