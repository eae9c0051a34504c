package sim

import (
	"container/heap"
	"math"
	"time"

	"pulley/engine/dispatch"
)

// kind says what happens.
type kind string

const (
	arrive   kind = "arrive"
	tick     kind = "tick"
	apply    kind = "apply"
	reply    kind = "reply"
	done     kind = "done"
	notified kind = "woken"
	restart  kind = "restart"
	drain    kind = "drain"
	cancel   kind = "cancel"
)

// anyIncarnation is the life of an event that concerns whatever process is in the engine's place.
const anyIncarnation = -1

// never is the time of no event.
const never = time.Duration(math.MaxInt64)

// occurrence is an event on the calendar.
type occurrence struct {
	at  time.Duration
	tie uint32 // drawn: the order of what happens at the same moment
	seq uint64 // in which they were made, where the draw is a tie too

	kind        kind
	engine      *engine
	incarnation int // of the engine, for which the event is; anyIncarnation
	tick        int
	instance    *instance      // of arrive and cancel
	attempt     *attempt       // of done
	call        *dispatch.Call // of apply and reply
	due         time.Duration  // of apply: when the answer arrives
	event       dispatch.Event // of reply, done and drain
}

// at puts an event on the calendar.
func (w *world) at(at time.Duration, o occurrence) {
	w.seq++
	o.at, o.tie, o.seq = at, w.rng.Uint32(), w.seq
	heap.Push(&w.queue, &o)
}

// isCurrent says that the event is for the engine's present process and will make it decide. A deadline
// may be an old one by then.
func (o *occurrence) isCurrent(e *engine) bool {
	return o.engine == e && o.kind != apply && o.kind != tick && (o.incarnation == e.incarnation || o.incarnation == anyIncarnation)
}

// events is the calendar, a container/heap.
type events []*occurrence

func (h events) peek() *occurrence {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

func (h events) Len() int { return len(h) }

// Less orders by time, then as drawn.
func (h events) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.tie != b.tie:
		return a.tie < b.tie
	}
	return a.seq < b.seq
}

func (h events) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds an event, for container/heap.
func (h *events) Push(x any) { *h = append(*h, x.(*occurrence)) }

// Pop takes the last event, for container/heap.
func (h *events) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return o
}
