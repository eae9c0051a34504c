package memory

import "container/heap"

// rowHeap is a priority queue of rows, by time and then by the order of their enqueues. A row knows its
// position, so that it can leave from the middle.
type rowHeap struct{ rows rowSlice }

func (h *rowHeap) len() int      { return len(h.rows) }
func (h *rowHeap) min() *row     { return h.rows[0] }
func (h *rowHeap) add(r *row)    { heap.Push(&h.rows, r) }
func (h *rowHeap) remove(r *row) { heap.Remove(&h.rows, r.pos) }

// rowSlice is the heap.Interface behind rowHeap.
type rowSlice []*row

func (s rowSlice) Len() int { return len(s) }

func (s rowSlice) Less(i, j int) bool {
	if !s[i].at.Equal(s[j].at) {
		return s[i].at.Before(s[j].at)
	}
	return s[i].seq < s[j].seq
}

func (s rowSlice) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].pos, s[j].pos = i, j
}

// Push adds a row at the end, for container/heap.
func (s *rowSlice) Push(x any) {
	r := x.(*row)
	r.pos = len(*s)
	*s = append(*s, r)
}

// Pop takes the last row, for container/heap.
func (s *rowSlice) Pop() any {
	old := *s
	last := len(old) - 1
	r := old[last]
	old[last] = nil
	*s = old[:last]
	return r
}
