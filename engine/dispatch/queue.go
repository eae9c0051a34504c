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

// waitingTasks queues tasks for a slot, by when they arrived less their head starts. A lost task stays until its turn comes, or until most
// of its line is lost: searching for it would cost more than the rest of its removal.
type waitingTasks struct {
	usual  taskLine
	urgent []*taskLine // by priority, from 1; made when the first such task comes
	count  int         // in urgent, without lost ones
}

func (q *waitingTasks) len() int { return q.usual.len() + q.count }

func (q *waitingTasks) push(t *task) {
	if t.priority > 0 {
		q.count++
	}
	q.line(t).push(t)
}

// line returns the line of a task's priority.
func (q *waitingTasks) line(t *task) *taskLine {
	if t.priority == 0 {
		return &q.usual
	}
	for len(q.urgent) < t.priority {
		q.urgent = append(q.urgent, &taskLine{})
	}
	return q.urgent[t.priority-1]
}

// first returns the first task that was not lost; there must be one.
func (q *waitingTasks) first() *task {
	if q.count == 0 {
		return q.usual.first()
	}
	var first *task
	if q.usual.len() > 0 {
		first = q.usual.first()
	}
	for _, l := range q.urgent {
		if l.len() == 0 {
			continue
		}
		if t := l.first(); first == nil || t.isBefore(first) {
			first = t
		}
	}
	return first
}

// pop removes the task that first returns.
func (q *waitingTasks) pop() *task {
	t := q.first()
	q.line(t).fifo.pop()
	if t.priority > 0 {
		q.count--
	}
	return t
}

// lose counts a task out that was removed.
func (q *waitingTasks) lose(t *task) {
	if t.priority > 0 {
		q.count--
	}
	q.line(t).lose()
}

// isBefore reports whether the task is to start before another one.
func (t *task) isBefore(o *task) bool {
	if c := t.order.Compare(o.order); c != 0 {
		return c < 0
	}
	return t.id < o.id
}

// taskLine has tasks of one priority, in order of arrival.
type taskLine struct {
	fifo[*task]
	lost int
}

// Fewer lost tasks are not searched for.
const lostMin = 16

func (l *taskLine) len() int { return l.fifo.len() - l.lost }

// first returns the first task that was not lost; there must be one.
func (l *taskLine) first() *task {
	for {
		if t := l.peek(); t.held {
			return t
		}
		l.fifo.pop()
		l.lost--
	}
}

func (l *taskLine) lose() {
	if l.lost++; l.lost > lostMin && l.lost > l.fifo.len()/2 {
		l.remove(func(t *task) bool { return !t.held })
		l.lost = 0
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
