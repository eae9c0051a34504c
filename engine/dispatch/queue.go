package dispatch

import (
	"slices"
	"time"
)

// fifo is a queue that reuses its memory.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) push(v T) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		q.compact()
	}
	q.items = append(q.items, v)
}

func (q *fifo[T]) peek() T { return q.items[q.head] }

func (q *fifo[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// unpop puts items back in front, in their order.
func (q *fifo[T]) unpop(front []T) {
	q.compact()
	q.items = slices.Insert(q.items, 0, front...)
}

// remove drops all items for which it is asked to.
func (q *fifo[T]) remove(drop func(T) bool) {
	q.compact()
	q.items = slices.DeleteFunc(q.items, drop)
}

func (q *fifo[T]) compact() {
	if q.head == 0 {
		return
	}
	n := copy(q.items, q.items[q.head:])
	clear(q.items[n:])
	q.items, q.head = q.items[:n], 0
}

// waitingTasks are tasks that wait for a slot, in order of arrival. One that was lost stays in the queue until its turn comes, or
// most of the queue is like it: looking for it among all that wait would cost more than there is to do for it.
type waitingTasks struct {
	fifo[*task]
	lost int // of those in the queue
}

// lostMin are too few to be looked for.
const lostMin = 16

func (q *waitingTasks) len() int { return q.fifo.len() - q.lost }

// pop gives the first that was not lost; there must be one.
func (q *waitingTasks) pop() *task {
	for {
		t := q.fifo.pop()
		if t.held {
			return t
		}
		q.lost--
	}
}

// lose notes that a task of the queue is not held any more.
func (q *waitingTasks) lose() {
	if q.lost++; q.lost > lostMin && q.lost > q.fifo.len()/2 {
		q.remove(func(t *task) bool { return !t.held })
		q.lost = 0
	}
}

// pause is the waiting time after calls that failed.
type pause struct {
	fails int
	until time.Time // nothing before; zero where nothing failed
}

// isOver says whether the lane may be used again.
func (p *pause) isOver(now time.Time) bool { return !now.Before(p.until) }

func (p *pause) reset() { *p = pause{} }

// fail begins the next pause, twice as long as the one before, and gives its length.
func (p *pause) fail(now time.Time, least, most time.Duration) time.Duration {
	wait := least
	for i := 0; i < p.fails && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	p.fails++
	p.until = now.Add(wait)
	return wait
}
