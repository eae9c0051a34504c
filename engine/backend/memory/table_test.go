package memory

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
)

// TestTable makes random changes to a table, some of which are taken back, and wants it to find under
// every path what a search through all of it finds.
func TestTable(t *testing.T) {
	paths := []graph.Path{"", "0", "1", "10", "0.0", "0.1", "1.c0", "10.0", "0.0.0", "0.0.1", "0.10.2"}
	rapid.Check(t, func(t *rapid.T) {
		tb, twin, x := newTable[int](), map[address]int{}, &tx{}
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			a := address{int32(rapid.IntRange(0, 3).Draw(t, "id")), rapid.SampledFrom(paths).Draw(t, "path")}
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				tb.remove(x, a)
				delete(twin, a)
			case 1: // both changes come to nothing
				sp := x.savepoint()
				tb.put(x, a, -1)
				tb.remove(x, address{a.id, paths[0]})
				x.rollback(sp)
			default:
				v := len(x.undo)
				tb.put(x, a, v)
				twin[a] = v
			}
		}
		if !maps.Equal(tb.at, twin) {
			t.Fatalf("the table holds %v; want %v", tb.at, twin)
		}
		ids := []graph.NodeID{1, 3}
		for _, p := range paths {
			got, want := map[address]bool{}, map[address]bool{}
			for _, a := range under(&tb, p, ids) {
				if got[a] {
					t.Fatalf("%v is found twice under %q", a, p)
				}
				got[a] = true
			}
			for a := range twin {
				if a.path.Under(p) && slices.Contains(ids, graph.NodeID(a.id)) {
					want[a] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Fatalf("under %q are %v; want %v", p, got, want)
			}
		}
		x.rollback(savepoint{})
		if len(tb.at)+len(tb.inner) > 0 {
			t.Fatalf("a rollback left %v and %v", tb.at, tb.inner)
		}
	})
}
