package state

import "slices"

// Heap is a priority queue of runs by due time, then by order of enqueue. A run knows its position, so that it can be removed
// from the middle. The rank is the due time at insertion: a transaction may change Due, and the heap must not change with it.
type Heap []Ranked

// Ranked is a run in a heap.
type Ranked struct {
	*Run
	rank int64
}

func (r *Ranked) before(o *Ranked) bool {
	if r.rank != o.rank {
		return r.rank < o.rank
	}
	return r.Order < o.Order
}

// Add inserts a run that is in no heap.
func (h *Heap) Add(r *Run) {
	r.heap, r.pos = h, int32(len(*h))
	*h = append(*h, Ranked{r, r.Due})
	h.up(int(r.pos))
}

// Remove removes a run from its heap, if any.
func (r *Run) Remove() {
	if r.heap == nil {
		return
	}
	h, s := r.heap, *r.heap
	i, last := int(r.pos), len(s)-1
	s[i] = s[last]
	s[i].pos = int32(i)
	s[last] = Ranked{}
	*h = s[:last]
	if i < last && !h.down(i) {
		h.up(i)
	}
	r.heap = nil
}

// Move moves a run to a heap, ranked by its current due time; nil: to none.
func (r *Run) Move(to *Heap) {
	if r.heap == to && (to == nil || (*to)[r.pos].rank == r.Due) {
		return
	}
	r.Remove()
	if to != nil {
		to.Add(r)
	}
}

// In reports whether a run is in a heap.
func (r *Run) In(h *Heap) bool { return r.heap == h }

func (h Heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h Heap) down(i int) bool {
	moved := false
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(&h[least]) {
				least = child
			}
		}
		if least == i {
			return moved
		}
		h.swap(i, least)
		i, moved = least, true
	}
}

func (h Heap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = int32(i), int32(j)
}

// FIFO holds ready runs, oldest first. A run that is no longer ready stays until it reaches the head.
type FIFO struct {
	runs []*Run
	head int
}

// Push adds a run at the end, unless it is in the queue.
func (q *FIFO) Push(r *Run) {
	if r.queued {
		return
	}
	r.queued = true
	q.runs = append(q.runs, r)
}

// PushFirst adds a run at the head, unless it is in the queue.
func (q *FIFO) PushFirst(r *Run) {
	if r.queued {
		return
	}
	r.queued = true
	if q.head > 0 {
		q.head--
		q.runs[q.head] = r
		return
	}
	q.runs = slices.Insert(q.runs, 0, r)
}

// Peek returns the oldest ready run, or nil.
func (q *FIFO) Peek() *Run {
	for q.head < len(q.runs) {
		if r := q.runs[q.head]; r.Place == Ready {
			return r
		}
		q.Pop()
	}
	return nil
}

// First calls f with at most most of the oldest ready runs, in order; f must not change the queue.
func (q *FIFO) First(most int, f func(*Run)) {
	for _, r := range q.runs[q.head:] {
		if most == 0 {
			return
		}
		if r.Place == Ready {
			f(r)
			most--
		}
	}
}

// Pop removes the head.
func (q *FIFO) Pop() {
	q.runs[q.head].queued = false
	q.runs[q.head] = nil
	q.head++
	if q.head > 1024 && 2*q.head > len(q.runs) {
		n := copy(q.runs, q.runs[q.head:])
		clear(q.runs[n:])
		q.runs, q.head = q.runs[:n], 0
	}
}

// Queued reports whether a run is in a FIFO.
func (r *Run) Queued() bool { return r.queued }
