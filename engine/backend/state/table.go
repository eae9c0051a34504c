package state

import (
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Address is where something stands in an instance: a run's node or a slot's variable, and a path.
type Address struct {
	ID   int32
	Path graph.Path
}

// OfRun gives the address of a node run or barrier.
func OfRun(r graph.Run) Address { return Address{int32(r.Node), r.Path} }

// OfSlot gives the address of a value.
func OfSlot(s plan.Slot) Address { return Address{int32(s.Var), s.Scope} }

// fewMost is how many entries a table keeps as a plain list: most instances never have more, and a map costs
// more than they do.
const fewMost = 12

// Table holds one kind of what an instance has in memory. It finds what stands under a path without a look at
// the rest once there is much: the end of a loop's round must not cost more because other elements of a
// spread are at work. The zero value is empty.
type Table[V any] struct {
	few  []entry[V]
	many *index[V] // nil while few serves
}

type entry[V any] struct {
	at Address
	v  V
}

// index is a table of many entries.
type index[V any] struct {
	at    map[Address]V
	inner map[graph.Path]map[Address]struct{} // what stands under a path but not at it; nothing under the empty one
}

func (tb *Table[V]) find(a Address) int {
	for i := range tb.few {
		if e := &tb.few[i]; e.at.ID == a.ID && e.at.Path == a.Path {
			return i
		}
	}
	return -1
}

// Get gives the entry at an address, and whether there is one.
func (tb *Table[V]) Get(a Address) (V, bool) {
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

// Put stores an entry in the place of what stood at its address.
func (tb *Table[V]) Put(a Address, v V) {
	if tb.many != nil {
		tb.many.put(a, v)
		return
	}
	if i := tb.find(a); i >= 0 {
		tb.few[i].v = v
		return
	}
	if len(tb.few) < fewMost {
		tb.few = append(tb.few, entry[V]{a, v})
		return
	}
	tb.become(4 * fewMost)
	tb.many.put(a, v)
}

// become makes the table one with room for so many entries.
func (tb *Table[V]) become(room int) {
	tb.many = &index[V]{at: make(map[Address]V, room), inner: map[graph.Path]map[Address]struct{}{}}
	for _, e := range tb.few {
		tb.many.put(e.at, e.v)
	}
	tb.few = nil
}

// Reserve makes room for more entries, if the table is not large already.
func (tb *Table[V]) Reserve(more int) {
	if room := len(tb.few) + more; tb.many == nil && room > fewMost {
		tb.become(room)
	}
}

// Drop takes an entry away, if there is one.
func (tb *Table[V]) Drop(a Address) {
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

// Len counts the entries.
func (tb *Table[V]) Len() int {
	if tb.many != nil {
		return len(tb.many.at)
	}
	return len(tb.few)
}

// Each calls f with every entry, in any order; f must not change the table.
func (tb *Table[V]) Each(f func(Address, V)) {
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

// Under lists what stands at a path and under it for some nodes or variables, in any order.
func Under[V any, ID ~int32](tb *Table[V], path graph.Path, ids []ID) []Address {
	var out []Address
	if tb.many != nil {
		return underMany(tb.many, path, ids)
	}
	for i := range tb.few {
		if a := tb.few[i].at; a.Path.Under(path) && slices.Contains(ids, ID(a.ID)) {
			out = append(out, a)
		}
	}
	return out
}

func underMany[V any, ID ~int32](x *index[V], path graph.Path, ids []ID) []Address {
	var out []Address
	if path == "" {
		for a := range x.at {
			if slices.Contains(ids, ID(a.ID)) {
				out = append(out, a)
			}
		}
		return out
	}
	for _, id := range ids {
		a := Address{int32(id), path}
		if _, ok := x.at[a]; ok {
			out = append(out, a)
		}
	}
	for a := range x.inner[path] {
		if slices.Contains(ids, ID(a.ID)) {
			out = append(out, a)
		}
	}
	return out
}

func (x *index[V]) put(a Address, v V) {
	if outer(a.Path) != "" {
		if _, had := x.at[a]; !had {
			x.nest(a)
		}
	}
	x.at[a] = v
}

// nest notes an entry at the paths around its own.
func (x *index[V]) nest(a Address) {
	for p := outer(a.Path); p != ""; p = outer(p) {
		if x.inner[p] == nil {
			x.inner[p] = map[Address]struct{}{}
		}
		x.inner[p][a] = struct{}{}
	}
}

func (x *index[V]) drop(a Address) {
	delete(x.at, a)
	for p := outer(a.Path); p != ""; p = outer(p) {
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
