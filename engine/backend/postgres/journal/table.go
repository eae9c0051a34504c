package journal

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

// fewMax is how many entries a table keeps as a plain list: most instances never have more, and a map costs
// more than they do.
const fewMax = 12

// table holds one kind of what an instance has in memory. It finds what stands under a path without a look at
// the rest once there is much: the end of a loop's round must not cost more because other elements of a
// spread are at work. The zero value is empty.
type table[V any] struct {
	few  []entry[V]
	many *index[V] // nil while few serves
}

type entry[V any] struct {
	at address
	v  V
}

// index is a table of many entries.
type index[V any] struct {
	at    map[address]V
	inner map[graph.Path]map[address]struct{} // what stands under a path but not at it; nothing under the empty one
}

func (tb *table[V]) find(a address) int {
	for i := range tb.few {
		if e := &tb.few[i]; e.at.id == a.id && e.at.path == a.path {
			return i
		}
	}
	return -1
}

func (tb *table[V]) get(a address) (V, bool) {
	if tb.many != nil {
		v, ok := tb.many.at[a]
		return v, ok
	}
	if i := tb.find(a); i >= 0 {
		return tb.few[i].v, true
	}
	var none V
	return none, false
}

func (tb *table[V]) put(a address, v V) {
	if tb.many != nil {
		tb.many.put(a, v)
		return
	}
	if i := tb.find(a); i >= 0 {
		tb.few[i].v = v
		return
	}
	if len(tb.few) < fewMax {
		tb.few = append(tb.few, entry[V]{a, v})
		return
	}
	tb.many = &index[V]{at: make(map[address]V, 4*fewMax), inner: map[graph.Path]map[address]struct{}{}}
	for _, e := range tb.few {
		tb.many.put(e.at, e.v)
	}
	tb.many.put(a, v)
	tb.few = nil
}

func (tb *table[V]) drop(a address) {
	if tb.many != nil {
		tb.many.drop(a)
		return
	}
	i := tb.find(a)
	if i < 0 {
		return
	}
	last := len(tb.few) - 1
	tb.few[i] = tb.few[last]
	tb.few[last] = entry[V]{}
	tb.few = tb.few[:last]
}

func (tb *table[V]) len() int {
	if tb.many != nil {
		return len(tb.many.at)
	}
	return len(tb.few)
}

// each calls f with every entry, in any order; f must not change the table.
func (tb *table[V]) each(f func(address, V)) {
	if tb.many != nil {
		for a, v := range tb.many.at {
			f(a, v)
		}
		return
	}
	for _, e := range tb.few {
		f(e.at, e.v)
	}
}

// under lists what stands at a path and under it for some nodes or variables, in any order.
func under[V any, ID ~int32](tb *table[V], path graph.Path, ids []ID) []address {
	var out []address
	if tb.many != nil {
		return underMany(tb.many, path, ids)
	}
	for i := range tb.few {
		if a := tb.few[i].at; a.path.Under(path) && slices.Contains(ids, ID(a.id)) {
			out = append(out, a)
		}
	}
	return out
}

func underMany[V any, ID ~int32](x *index[V], path graph.Path, ids []ID) []address {
	var out []address
	if path == "" {
		for a := range x.at {
			if slices.Contains(ids, ID(a.id)) {
				out = append(out, a)
			}
		}
		return out
	}
	for _, id := range ids {
		a := address{int32(id), path}
		if _, ok := x.at[a]; ok {
			out = append(out, a)
		}
	}
	for a := range x.inner[path] {
		if slices.Contains(ids, ID(a.id)) {
			out = append(out, a)
		}
	}
	return out
}

func (x *index[V]) put(a address, v V) {
	if _, had := x.at[a]; !had {
		for p := outer(a.path); p != ""; p = outer(p) {
			if x.inner[p] == nil {
				x.inner[p] = map[address]struct{}{}
			}
			x.inner[p][a] = struct{}{}
		}
	}
	x.at[a] = v
}

func (x *index[V]) drop(a address) {
	delete(x.at, a)
	for p := outer(a.path); p != ""; p = outer(p) {
		if delete(x.inner[p], a); len(x.inner[p]) == 0 {
			delete(x.inner, p)
		}
	}
}

// outer gives a path without its last part.
func outer(p graph.Path) graph.Path {
	if i := strings.LastIndexByte(string(p), '.'); i >= 0 {
		return p[:i]
	}
	return ""
}
