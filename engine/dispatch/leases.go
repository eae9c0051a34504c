package dispatch

import (
	"container/heap"
	"time"
)

// cohort is a linked list of tasks whose leases end together, since one reply granted or renewed them, in the order in which
// they joined.
type cohort struct {
	id          uint64
	check       time.Time // when to renew the leases or, during the renewal, to drop the tasks
	expires     time.Time
	first, last *task
	place       int
}

// watch schedules the renewal of a task's lease. The task joins the newest cohort if its lease ends at the same time.
func (m *Machine) watch(t *task) {
	m.unwatch(t)
	check := m.renewAt(t)
	c := m.newest
	if c == nil || c.first == nil || !c.expires.Equal(t.task.Expires) || !c.check.Equal(check) {
		m.cohorts++
		c = &cohort{id: m.cohorts, check: check, expires: t.task.Expires}
		m.newest = c
	}
	t.cohort, t.before, t.behind = c, c.last, nil
	if c.last != nil {
		c.last.behind = t
	} else {
		c.first = t
		heap.Push(&m.leases, c)
	}
	c.last = t
}

func (m *Machine) unwatch(t *task) {
	c := t.cohort
	if c == nil {
		return
	}
	if t.before != nil {
		t.before.behind = t.behind
	} else {
		c.first = t.behind
	}
	if t.behind != nil {
		t.behind.before = t.before
	} else {
		c.last = t.before
	}
	t.cohort, t.before, t.behind = nil, nil, nil
	if c.first == nil {
		heap.Remove(&m.leases, c.place)
	}
}

func (m *Machine) limit(t *task, until time.Time) {
	if t.place >= 0 {
		heap.Remove(&m.deadlines, t.place)
	}
	t.deadline = until
	if !until.IsZero() {
		heap.Push(&m.deadlines, t)
	}
}

func (m *Machine) checkLeases(now time.Time) {
	for len(m.deadlines) > 0 && !now.Before(m.deadlines[0].deadline) {
		t := m.deadlines[0]
		m.limit(t, time.Time{})
		m.abandonTask(t)
	}
	for len(m.leases) > 0 && !now.Before(m.leases[0].check) {
		c := m.leases[0]
		expired := !now.Before(c.expires)
		for t := c.first; t != nil; {
			next := t.behind
			switch {
			case t.lost:
				m.unwatch(t)
			case expired:
				m.expire(t)
			default:
				t.shard.renew = append(t.shard.renew, t)
			}
			t = next
		}
		if c.first != nil {
			c.check = c.expires
			heap.Fix(&m.leases, c.place)
		}
	}
}

// expire drops a task whose lease has expired. A completion stays: if nobody has leased the run since, its token is current.
func (m *Machine) expire(t *task) {
	m.unwatch(t)
	if t.state != offered && t.state != committing {
		m.lost(t)
	}
}

// timed is an element of a byTime heap; age breaks ties.
type timed interface {
	due() time.Time
	age() uint64
	setIndex(place int)
}

func (c *cohort) due() time.Time  { return c.check }
func (c *cohort) age() uint64     { return c.id }
func (c *cohort) setIndex(to int) { c.place = to }

func (t *task) due() time.Time  { return t.deadline }
func (t *task) age() uint64     { return uint64(t.id) }
func (t *task) setIndex(to int) { t.place = to }

// byTime is a container/heap by due time.
type byTime[T timed] []T

func (h byTime[T]) Len() int { return len(h) }

// Less breaks ties by age, so that the order never depends on the heap's layout.
func (h byTime[T]) Less(i, j int) bool {
	if c := h[i].due().Compare(h[j].due()); c != 0 {
		return c < 0
	}
	return h[i].age() < h[j].age()
}

func (h byTime[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].setIndex(i)
	h[j].setIndex(j)
}

// Push implements heap.Interface.
func (h *byTime[T]) Push(x any) {
	t := x.(T)
	t.setIndex(len(*h))
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *byTime[T]) Pop() any {
	var none T
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = none
	*h = (*h)[:last]
	t.setIndex(-1)
	return t
}
