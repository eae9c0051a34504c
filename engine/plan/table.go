package plan

import (
	"slices"

	"pulley/engine/graph"
)

// listMax is up to how many values are searched one by one: most traversals know a handful.
const listMax = 12

// table holds the values that a traversal knows, by slot. A value keeps its address.
type table struct {
	list  []entry
	index map[Slot]*value
	first [listMax]value // memory of the first ones
	used  int
	spare []value
	again *value // the value removed last; may be nil
}

func (t *table) clear() {
	clear(t.list)
	clear(t.first[:t.used])
	t.list, t.index, t.used, t.spare, t.again = t.list[:0], nil, 0, nil, nil
}

type entry struct {
	slot  Slot
	value *value
}

func (t *table) get(slot Slot) *value {
	if t.index != nil {
		return t.index[slot]
	}
	for i := range t.list {
		if t.list[i].slot == slot {
			return t.list[i].value
		}
	}
	return nil
}

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
	case t.index != nil:
		t.index[slot] = v
	case len(t.list) < listMax:
		t.list = append(t.list, entry{slot, v})
	default:
		t.index = make(map[Slot]*value, 2*listMax)
		for _, e := range t.list {
			t.index[e.slot] = e.value
		}
		t.index[slot] = v
	}
	return v
}

func (t *table) place() *value {
	switch {
	case t.again != nil:
		v := t.again
		t.again = nil
		return v
	case t.used < listMax:
		t.used++
		return &t.first[t.used-1]
	case len(t.spare) == 0:
		t.spare = make([]value, listMax)
	}
	v := &t.spare[0]
	t.spare = t.spare[1:]
	return v
}

// remove forgets a slot. The next new one reuses the value's memory.
func (t *table) remove(slot Slot) {
	known := t.get(slot)
	if known == nil {
		return
	}
	*known = value{}
	t.again = known
	if t.index != nil {
		delete(t.index, slot)
		return
	}
	t.list = slices.DeleteFunc(t.list, func(e entry) bool { return e.slot == slot })
}

// nodeSet is small: at most the graph's frontiers.
type nodeSet []graph.NodeID

func (s *nodeSet) add(id graph.NodeID) {
	for i := len(*s) - 1; i >= 0; i-- { // most often it was the last
		if (*s)[i] == id {
			return
		}
	}
	*s = append(*s, id)
}
