package state

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
)

func TestTable(t *testing.T) {
	paths := []graph.Path{"", "0", "1", "10", "0.0", "0.1", "1.c0", "10.0", "0.0.0", "0.0.1", "0.10.2"}
	rapid.Check(t, func(t *rapid.T) {
		tb, model := Table[int]{}, map[Address]int{}
		for i := range rapid.IntRange(1, 60).Draw(t, "changes") {
			a := Address{int32(rapid.IntRange(0, 3).Draw(t, "id")), rapid.SampledFrom(paths).Draw(t, "path")}
			switch rapid.IntRange(0, 7).Draw(t, "change") {
			case 0, 1:
				tb.Drop(a)
				delete(model, a)
			case 2:
				tb.Reserve(rapid.IntRange(0, 3).Draw(t, "more"))
			default:
				tb.Put(a, i)
				model[a] = i
			}
			if v, ok := tb.Get(a); tb.Len() != len(model) || v != model[a] || ok != has(model, a) {
				t.Fatalf("at %v of %d entries is %d, %t; want %d of %d", a, tb.Len(), v, ok, model[a], len(model))
			}
		}
		held := map[Address]int{}
		tb.Each(func(a Address, v int) { held[a] = v })
		if !maps.Equal(held, model) {
			t.Fatalf("the table holds %v; want %v", held, model)
		}
		ids := []graph.NodeID{1, 3}
		for _, p := range paths {
			got, want := map[Address]bool{}, map[Address]bool{}
			for _, a := range Under(&tb, p, ids) {
				if got[a] {
					t.Fatalf("%v is found twice under %q", a, p)
				}
				got[a] = true
			}
			for a := range model {
				if a.Path.Under(p) && slices.Contains(ids, graph.NodeID(a.ID)) {
					want[a] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("under %q are %v; want %v", p, got, want)
			}
		}
		for a := range model {
			tb.Drop(a)
		}
		if tb.Len() > 0 || tb.index != nil && len(tb.index.at)+len(tb.index.inner) > 0 {
			t.Fatalf("what is left without entries is %v", tb.index)
		}
	})
}

func has(m map[Address]int, a Address) bool {
	_, ok := m[a]
	return ok
}
