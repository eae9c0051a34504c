package dispatch

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Thousands of tasks are queued, started and lost in random order: the others must start in order of arrival less their head starts, and
// the queue must keep few lost ones.
func TestLostTasksLeaveTheQueue(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q waitingTasks
		var want []*task
		for id := TaskID(1); id <= 5000; id++ {
			switch arrives := rng.IntN(10); {
			case arrives < 6 && id%500 < 250: // the queue grows for a while, and then shrinks
				one := &task{id: id, held: true, order: time.Unix(int64(id), 0)}
				if seed%2 == 1 {
					one.priority = rng.IntN(graph.PriorityMax + 1)
					one.order = one.order.Add(-time.Duration(one.priority) * backend.PriorityStep)
				}
				q.push(one)
				at, _ := slices.BinarySearchFunc(want, one, func(a, b *task) int {
					return cmp.Or(a.order.Compare(b.order), cmp.Compare(a.id, b.id))
				})
				want = slices.Insert(want, at, one)
			case len(want) > 0 && arrives < 8:
				i := rng.IntN(len(want))
				want[i].held = false
				q.lose(want[i])
				want = slices.Delete(want, i, i+1)
			case len(want) > 0:
				if got := q.pop(); got != want[0] {
					t.Fatalf("seed %d: task %d begins, want %d", seed, got.id, want[0].id)
				}
				want = want[1:]
			}
			if q.len() != len(want) {
				t.Fatalf("seed %d: %d tasks wait, want %d", seed, q.len(), len(want))
			}
			for _, l := range append(q.urgent, &q.usual) {
				if kept := l.lost; kept > max(lostMin, l.len())+1 {
					t.Fatalf("seed %d: %d lost tasks are kept beside %d that wait", seed, kept, l.len())
				}
			}
		}
	}
}
