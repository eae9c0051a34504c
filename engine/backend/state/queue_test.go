package state

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHeap makes random moves between two heaps, and wants each to give its runs by when they are due, and then by order.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heaps [2]Heap
		var model [2][]*Run
		var runs []*Run
		for i := range rapid.IntRange(1, 80).Draw(t, "moves") {
			r := &Run{Order: uint64(i)}
			if len(runs) > 0 && rapid.Bool().Draw(t, "known") {
				r = rapid.SampledFrom(runs).Draw(t, "run")
			} else {
				runs = append(runs, r)
			}
			for k := range model {
				model[k] = slices.DeleteFunc(model[k], func(x *Run) bool { return x == r })
			}
			r.Due = int64(rapid.IntRange(0, 6).Draw(t, "due"))
			to := rapid.IntRange(-1, 1).Draw(t, "heap")
			if to < 0 {
				r.Move(nil)
				continue
			}
			r.Move(&heaps[to])
			model[to] = append(model[to], r)
		}
		for k := range heaps {
			slices.SortFunc(model[k], func(a, b *Run) int { return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Order, b.Order)) })
			for _, want := range model[k] {
				if got := heaps[k][0].Run; got != want || !got.In(&heaps[k]) {
					t.Fatalf("heap %d gives %+v; want %+v", k, *got, *want)
				}
				heaps[k][0].Move(nil)
			}
			if len(heaps[k]) > 0 {
				t.Fatalf("heap %d has %d more", k, len(heaps[k]))
			}
		}
	})
}
