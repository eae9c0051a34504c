package journal

import "slices"

// heapName says which heap a run is in.
type heapName uint8

const (
	noHeap heapName = iota
	waitingHeap
	leasedHeap
)

// heap is a priority queue of runs, by rank and then by the order of their enqueues. A run knows its position,
// so that it can leave from the middle. The rank is what due was when the run was put there: due itself may
// change while a transaction is open, and the heap must not.
type heap []*run

func (r *run) before(o *run) bool {
	if r.rank != o.rank {
		return r.rank < o.rank
	}
	return r.order < o.order
}

func (h *heap) add(r *run) {
	r.rank = r.due
	r.pos = int32(len(*h))
	*h = append(*h, r)
	h.up(int(r.pos))
}

func (h *heap) remove(r *run) {
	s := *h
	i, last := int(r.pos), len(s)-1
	s[i] = s[last]
	s[i].pos = int32(i)
	s[last] = nil
	*h = s[:last]
	if i < last && !h.down(i) {
		h.up(i)
	}
}

func (h heap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

// down moves an entry towards the leaves, and says whether it moved.
func (h heap) down(i int) bool {
	moved := false
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].before(h[least]) {
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

func (h heap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = int32(i), int32(j)
}

// fifo holds what is ready, oldest first. A run that is not ready any more stays until it comes to the head.
type fifo struct {
	runs []*run
	head int
}

func (q *fifo) push(r *run) {
	if r.queued {
		return
	}
	r.queued = true
	q.runs = append(q.runs, r)
}

// first puts a run before all others.
func (q *fifo) first(r *run) {
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

// peek gives the oldest run that is ready, or nil.
func (q *fifo) peek() *run {
	for q.head < len(q.runs) {
		if r := q.runs[q.head]; r.place == ready {
			return r
		}
		q.pop()
	}
	return nil
}

// pop takes the head away.
func (q *fifo) pop() {
	q.runs[q.head].queued = false
	q.runs[q.head] = nil
	q.head++
	if q.head > 1024 && 2*q.head > len(q.runs) {
		n := copy(q.runs, q.runs[q.head:])
		clear(q.runs[n:])
		q.runs, q.head = q.runs[:n], 0
	}
}
