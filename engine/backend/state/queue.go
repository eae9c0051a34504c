package state

import (
	"cmp"
	"slices"
)

// Heap is a priority queue of runs by due time, then by order of enqueue. A run knows its position, so that it can be removed
// from the middle. The rank is the due time at insertion, less a head start where that counts: a transaction may change Due,
// and the heap must not change with it.
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
func (h *Heap) Add(r *Run) { h.add(r, r.Due) }

func (h *Heap) add(r *Run, rank int64) {
	r.heap, r.pos = h, int32(len(*h))
	*h = append(*h, Ranked{r, rank})
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
func (r *Run) Move(to *Heap) { r.move(to, r.Due) }

// MoveReady moves a run that is due to a heap of ready runs, in which the head starts of their instances count.
func (r *Run) MoveReady(to *Heap) { r.move(to, r.Due-r.Inst.HeadStart) }

func (r *Run) move(to *Heap, rank int64) {
	if r.heap == to && (to == nil || (*to)[r.pos].rank == rank) {
		return
	}
	r.Remove()
	if to != nil {
		to.add(r, rank)
	}
}

// Rank is what the heap orders the run by.
func (r *Ranked) Rank() int64 { return r.rank }

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

// FIFO holds ready runs: first those that were put first, then by when they became ready, less the head starts of their instances. A run
// that is no longer ready stays until it reaches the head of its line.
type FIFO struct {
	first, usual line
	urgent       []*urgentLine // by head start; few
}

// urgentLine has the runs of one head start.
type urgentLine struct {
	line
	headStart int64
}

// Push adds a run at the end of those with its head start, unless it is in the queue.
func (q *FIFO) Push(r *Run) {
	if r.queued {
		return
	}
	if r.Inst.HeadStart == 0 {
		q.usual.push(r)
		return
	}
	at, found := slices.BinarySearchFunc(q.urgent, r.Inst.HeadStart, func(l *urgentLine, headStart int64) int { return cmp.Compare(l.headStart, headStart) })
	if !found {
		q.urgent = slices.Insert(q.urgent, at, &urgentLine{headStart: r.Inst.HeadStart})
	}
	q.urgent[at].push(r)
}

// PushFirst adds a run before all others, unless it is in the queue.
func (q *FIFO) PushFirst(r *Run) {
	if !r.queued {
		q.first.pushFirst(r)
	}
}

// Peek returns the run that is handed out next, or nil.
func (q *FIFO) Peek() *Run {
	_, r := q.next()
	return r
}

// PeekBefore returns the run that is handed out next, and its rank: when it became ready, less its instance's head start. It returns nil if
// that is after a time. What was put first is before any time, and has the rank zero.
func (q *FIFO) PeekBefore(at int64) (r *Run, rank int64) {
	from, r := q.next()
	if r == nil || from == &q.first {
		return r, 0
	}
	if rank = r.Due - r.Inst.HeadStart; rank > at {
		return nil, 0
	}
	return r, rank
}

// Pop removes the run that Peek returns; there must be one.
func (q *FIFO) Pop() {
	l, _ := q.next()
	l.pop()
}

// next returns the next run, and its line.
func (q *FIFO) next() (*line, *Run) {
	if r := q.first.peek(); r != nil {
		return &q.first, r
	}
	from, next := &q.usual, q.usual.peek()
	for _, l := range q.urgent {
		if r := l.peek(); r != nil && (next == nil || r.Due-l.headStart < next.Due-next.Inst.HeadStart) {
			from, next = &l.line, r
		}
	}
	return from, next
}

// First calls f with at most most of the ready runs: those of the line of the next one, in their order, and then those of the others. f
// must not change the queue.
func (q *FIFO) First(most int, f func(*Run)) {
	from, _ := q.next()
	most = from.each(most, f)
	all := []*line{&q.first, &q.usual}
	for _, l := range q.urgent {
		all = append(all, &l.line)
	}
	for _, l := range all {
		if l != from {
			most = l.each(most, f)
		}
	}
}

// line holds runs in one order.
type line struct {
	runs []*Run
	head int
}

func (l *line) push(r *Run) {
	r.queued = true
	l.runs = append(l.runs, r)
}

func (l *line) pushFirst(r *Run) {
	r.queued = true
	if l.head > 0 {
		l.head--
		l.runs[l.head] = r
		return
	}
	l.runs = slices.Insert(l.runs, 0, r)
}

func (l *line) peek() *Run {
	for l.head < len(l.runs) {
		if r := l.runs[l.head]; r.Place == Ready {
			return r
		}
		l.pop()
	}
	return nil
}

// each calls f with at most most of the runs that are ready, and returns how many more there may be.
func (l *line) each(most int, f func(*Run)) int {
	for _, r := range l.runs[l.head:] {
		if most == 0 {
			break
		}
		if r.Place == Ready {
			f(r)
			most--
		}
	}
	return most
}

func (l *line) pop() {
	l.runs[l.head].queued = false
	l.runs[l.head] = nil
	l.head++
	if l.head > 1024 && 2*l.head > len(l.runs) {
		n := copy(l.runs, l.runs[l.head:])
		clear(l.runs[n:])
		l.runs, l.head = l.runs[:n], 0
	}
}

// Queued reports whether a run is in a FIFO.
func (r *Run) Queued() bool { return r.queued }
