package dispatch

import (
	"slices"
	"time"
)

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

func (q *fifo[T]) unpop(front []T) {
	q.compact()
	q.items = slices.Insert(q.items, 0, front...)
}

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

// waitingTasks queues tasks for a slot, in order of arrival. A lost task stays until its turn comes, or until most of the queue
// is lost: searching for it would cost more than the rest of its removal.
type waitingTasks struct {
	fifo[*task]
	lost int
}

// Fewer lost tasks are not searched for.
const lostMin = 16

func (q *waitingTasks) len() int { return q.fifo.len() - q.lost }

// first returns the first task that was not lost; there must be one.
func (q *waitingTasks) first() *task {
	for {
		if t := q.peek(); t.held {
			return t
		}
		q.fifo.pop()
		q.lost--
	}
}

// pop removes the task that first returns.
func (q *waitingTasks) pop() *task {
	t := q.first()
	q.fifo.pop()
	return t
}

func (q *waitingTasks) lose() {
	if q.lost++; q.lost > lostMin && q.lost > q.fifo.len()/2 {
		q.remove(func(t *task) bool { return !t.held })
		q.lost = 0
	}
}

type pause struct {
	fails int
	until time.Time // no call before; zero after a success
}

func (p *pause) isOver(now time.Time) bool { return !now.Before(p.until) }

func (p *pause) reset() { *p = pause{} }

// The pause doubles.
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
