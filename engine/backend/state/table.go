package state

import (
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Address locates something in an instance: a run's node or a slot's variable, and a path.
type Address struct {
	ID   int32
	Path graph.Path
}

// OfRun returns the address of a node run or barrier.
func OfRun(r graph.Run) Address { return Address{int32(r.Node), r.Path} }

// OfSlot returns the address of a value.
func OfSlot(s plan.Slot) Address { return Address{int32(s.Var), s.Scope} }

// listMax is the size up to which a table is a plain list: most instances have no more, and a map costs more.
const listMax = 12

// Table holds one kind of an instance's state. A large table finds what is under a path without a scan: the end of a loop's round
// must not cost more because other elements of a spread are running. The zero value is empty.
type Table[V any] struct {
	list  []entry[V]
	index *index[V] // nil while the list suffices
}

type entry[V any] struct {
	at Address
	v  V
}

type index[V any] struct {
	at    map[Address]V
	inner map[graph.Path]map[Address]struct{} // addresses under a path, but not at it; none for the empty path
}

func (tb *Table[V]) find(a Address) int {
	for i := range tb.list {
		if e := &tb.list[i]; e.at.ID == a.ID && e.at.Path == a.Path {
			return i
		}
	}
	return -1
}

// Get returns the entry at an address, and whether there is one.
func (tb *Table[V]) Get(a Address) (V, bool) {
	if tb.index != nil {
		v, ok := tb.index.at[a]
		return v, ok
	}
	if i := tb.find(a); i >= 0 {
		return tb.list[i].v, true
	}
	var none V
	return none, false
}

// Put stores or replaces the entry at an address.
func (tb *Table[V]) Put(a Address, v V) {
	if tb.index != nil {
		tb.index.put(a, v)
		return
	}
	if i := tb.find(a); i >= 0 {
		tb.list[i].v = v
		return
	}
	if len(tb.list) < listMax {
		tb.list = append(tb.list, entry[V]{a, v})
		return
	}
	tb.become(4 * listMax)
	tb.index.put(a, v)
}

func (tb *Table[V]) become(room int) {
	tb.index = &index[V]{at: make(map[Address]V, room), inner: map[graph.Path]map[Address]struct{}{}}
	for _, e := range tb.list {
		tb.index.put(e.at, e.v)
	}
	tb.list = nil
}

// Reserve makes room for more entries, unless the table is an index already.
func (tb *Table[V]) Reserve(more int) {
	if room := len(tb.list) + more; tb.index == nil && room > listMax {
		tb.become(room)
	}
}

// Drop removes an entry, if there is one.
func (tb *Table[V]) Drop(a Address) {
	if tb.index != nil {
		tb.index.drop(a)
		return
	}
	i := tb.find(a)
	if i < 0 {
		return
	}
	last := len(tb.list) - 1
	tb.list[i] = tb.list[last]
	tb.list[last] = entry[V]{}
	tb.list = tb.list[:last]
}

// Len counts the entries.
func (tb *Table[V]) Len() int {
	if tb.index != nil {
		return len(tb.index.at)
	}
	return len(tb.list)
}

// Each calls f with every entry, in any order; f must not change the table.
func (tb *Table[V]) Each(f func(Address, V)) {
	if tb.index != nil {
		for a, v := range tb.index.at {
			f(a, v)
		}
		return
	}
	for _, e := range tb.list {
		f(e.at, e.v)
	}
}

// Under lists the addresses of some nodes or variables at or under a path, in any order.
func Under[V any, ID ~int32](tb *Table[V], path graph.Path, ids []ID) []Address {
	var out []Address
	if tb.index != nil {
		return underIndex(tb.index, path, ids)
	}
	for i := range tb.list {
		if a := tb.list[i].at; a.Path.Under(path) && slices.Contains(ids, ID(a.ID)) {
			out = append(out, a)
		}
	}
	return out
}

func underIndex[V any, ID ~int32](x *index[V], path graph.Path, ids []ID) []Address {
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

func outer(p graph.Path) graph.Path {
	if i := strings.LastIndexByte(string(p), '.'); i >= 0 {
		return p[:i]
	}
	return ""
}
