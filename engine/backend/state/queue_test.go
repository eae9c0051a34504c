package state

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

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

func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q FIFO
		var model, runs []*Run
		pushed := func() *Run {
			if len(runs) > 0 && rapid.Bool().Draw(t, "known") {
				return rapid.SampledFrom(runs).Draw(t, "run")
			}
			r := &Run{Order: uint64(len(runs))}
			runs = append(runs, r)
			return r
		}
		for range rapid.IntRange(1, 80).Draw(t, "moves") {
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0, 1:
				r := pushed()
				if r.Place = Ready; !r.Queued() {
					model = append(model, r)
				}
				q.Push(r)
			case 2:
				r := pushed()
				if r.Place = Ready; !r.Queued() {
					model = slices.Insert(model, 0, r)
				}
				q.PushFirst(r)
			case 3:
				if len(model) > 0 {
					rapid.SampledFrom(model).Draw(t, "leaves").Place = Waiting
				}
			default:
				for len(model) > 0 && model[0].Place != Ready {
					model = model[1:]
				}
				var want *Run
				if len(model) > 0 {
					want, model = model[0], model[1:]
				}
				if got := q.Peek(); got != want {
					t.Fatalf("the oldest is %p; want %p", got, want)
				}
				if want != nil {
					q.Pop()
				}
			}
			for _, r := range runs {
				if r.Queued() != slices.Contains(model, r) {
					t.Fatalf("run %d is queued: %t", r.Order, r.Queued())
				}
			}
		}
	})
}

func TestLongFIFO(t *testing.T) {
	var q FIFO
	next := uint64(0)
	for i := range uint64(5000) {
		q.Push(&Run{Order: i, RunState: RunState{Place: Ready}})
		if i%5 == 0 {
			continue
		}
		if r := q.Peek(); r == nil || r.Order != next {
			t.Fatalf("the oldest is %+v; want run %d", r, next)
		}
		q.Pop()
		next++
	}
	if len(q.runs) > 3000 {
		t.Errorf("the queue has %d places for %d runs", len(q.runs), 5000-next)
	}
}
