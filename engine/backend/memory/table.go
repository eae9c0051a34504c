package memory

import (
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// address is where something stands in an instance: a run's node or a slot's variable, and a path.
type address struct {
	id   int32
	path graph.Path
}

func ofRun(r graph.Run) address  { return address{int32(r.Node), r.Path} }
func ofSlot(s plan.Slot) address { return address{int32(s.Var), s.Scope} }

// table holds one kind of what an instance has stored. It finds what stands under a path without a look at
// the rest: the end of a loop's round must not cost more because other elements of a spread are at work.
type table[V any] struct {
	at    map[address]V
	inner map[graph.Path]map[address]bool // what stands under a path but not at it; nothing under the empty one
}

func newTable[V any]() table[V] {
	return table[V]{at: map[address]V{}, inner: map[graph.Path]map[address]bool{}}
}

func (tb *table[V]) store(a address, v V) {
	if _, had := tb.at[a]; !had {
		for p := outer(a.path); p != ""; p = outer(p) {
			if tb.inner[p] == nil {
				tb.inner[p] = map[address]bool{}
			}
			tb.inner[p][a] = true
		}
	}
	tb.at[a] = v
}

func (tb *table[V]) drop(a address) {
	delete(tb.at, a)
	for p := outer(a.path); p != ""; p = outer(p) {
		if delete(tb.inner[p], a); len(tb.inner[p]) == 0 {
			delete(tb.inner, p)
		}
	}
}

// put stores a value for the duration of the transaction and, if it commits, for good.
func (tb *table[V]) put(t *tx, a address, v V) {
	old, had := tb.at[a]
	tb.store(a, v)
	t.undo = append(t.undo, func() {
		if had {
			tb.store(a, old)
		} else {
			tb.drop(a)
		}
	})
}

// remove takes a value away.
func (tb *table[V]) remove(t *tx, a address) {
	if old, had := tb.at[a]; had {
		tb.drop(a)
		t.undo = append(t.undo, func() { tb.store(a, old) })
	}
}

// under lists what stands at a path and under it for some nodes or variables, in any order.
func under[V any, ID ~int32](tb *table[V], path graph.Path, ids []ID) []address {
	var out []address
	if path == "" {
		for a := range tb.at {
			if slices.Contains(ids, ID(a.id)) {
				out = append(out, a)
			}
		}
		return out
	}
	for _, id := range ids {
		if a := (address{int32(id), path}); has(tb, a) {
			out = append(out, a)
		}
	}
	for a := range tb.inner[path] {
		if slices.Contains(ids, ID(a.id)) {
			out = append(out, a)
		}
	}
	return out
}

func has[V any](tb *table[V], a address) bool {
	_, ok := tb.at[a]
	return ok
}

// outer gives a path without its last part.
func outer(p graph.Path) graph.Path {
	if i := strings.LastIndexByte(string(p), '.'); i >= 0 {
		return p[:i]
	}
	return ""
}
