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

// Runs have up to three head starts, and become ready one after another.
func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q FIFO
		var runs []*Run
		instances := []*Instance{{}, {HeadStart: 3}, {HeadStart: 10}}[:rapid.IntRange(1, 3).Draw(t, "head starts")]
		var model [4][]*Run // what was put first, and then by head start
		pushed := func() (r *Run, line *[]*Run) {
			if len(runs) > 0 && rapid.Bool().Draw(t, "known") {
				r = rapid.SampledFrom(runs).Draw(t, "run")
			} else {
				r = &Run{Order: uint64(len(runs)), Inst: rapid.SampledFrom(instances).Draw(t, "instance")}
				runs = append(runs, r)
			}
			r.Place = Ready
			return r, &model[1+slices.Index(instances, r.Inst)]
		}
		// next returns the line of the next run, and drops runs that are not ready any more from the heads of those that it looks at.
		next := func() (from *[]*Run) {
			for i := range model {
				l := &model[i]
				for len(*l) > 0 && (*l)[0].Place != Ready {
					*l = (*l)[1:]
				}
				if len(*l) > 0 && (from == nil || (*l)[0].Due-(*l)[0].Inst.HeadStart < (*from)[0].Due-(*from)[0].Inst.HeadStart) {
					if from = l; i == 0 {
						return from
					}
				}
			}
			return from
		}
		for now := range rapid.Int64Range(1, 80).Draw(t, "moves") {
			switch rapid.IntRange(0, 5).Draw(t, "move") {
			case 0, 1:
				r, line := pushed()
				if !r.Queued() {
					r.Due = now
					*line = append(*line, r)
				}
				q.Push(r)
			case 2:
				r, _ := pushed()
				if !r.Queued() {
					model[0] = slices.Insert(model[0], 0, r)
				}
				q.PushFirst(r)
			case 3:
				if queued := slices.Concat(model[:]...); len(queued) > 0 {
					rapid.SampledFrom(queued).Draw(t, "leaves").Place = Waiting
				}
			default:
				var want *Run
				from := next()
				if from != nil {
					want = (*from)[0]
				}
				if got := q.Peek(); got != want {
					t.Fatalf("the next is %p; want %p", got, want)
				}
				checkFirst(t, &q, want, slices.Concat(model[:]...))
				if want != nil {
					q.Pop()
					*from = (*from)[1:]
				}
			}
			for _, r := range runs {
				if r.Queued() != slices.Contains(slices.Concat(model[:]...), r) {
					t.Fatalf("run %d is queued: %t", r.Order, r.Queued())
				}
			}
		}
	})
}

// checkFirst checks that First has the next run first, and every ready one once.
func checkFirst(t *rapid.T, q *FIFO, next *Run, queued []*Run) {
	var got []*Run
	q.First(len(queued)+1, func(r *Run) { got = append(got, r) })
	ready := slices.DeleteFunc(queued, func(r *Run) bool { return r.Place != Ready })
	for _, r := range ready {
		if !slices.Contains(got, r) {
			t.Fatalf("run %d is not among the first", r.Order)
		}
	}
	if len(got) != len(ready) || next != nil && got[0] != next {
		t.Fatalf("the first are %v; want %v, and before all others %v", got, ready, next)
	}
}

func TestLongFIFO(t *testing.T) {
	var q FIFO
	next := uint64(0)
	for i := range uint64(5000) {
		q.Push(&Run{Inst: &Instance{}, Order: i, RunState: RunState{Place: Ready}})
		if i%5 == 0 {
			continue
		}
		if r := q.Peek(); r == nil || r.Order != next {
			t.Fatalf("the oldest is %+v; want run %d", r, next)
		}
		q.Pop()
		next++
	}
	if len(q.usual.runs) > 3000 {
		t.Errorf("the queue has %d places for %d runs", len(q.usual.runs), 5000-next)
	}
}
