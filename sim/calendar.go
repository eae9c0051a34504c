package sim

import (
	"container/heap"
	"math"
	"time"

	"pulley/engine/dispatch"
)

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

// anyIncarnation is the incarnation of an event for whichever process the engine has then.
const anyIncarnation = -1

const never = time.Duration(math.MaxInt64)

type occurrence struct {
	at  time.Duration
	tie uint32 // random; orders events of the same moment
	seq uint64 // order of creation, where tie is equal too

	kind        kind
	engine      *engine
	incarnation int // of the engine; or anyIncarnation
	tick        int
	instance    *instance      // of arrive and cancel
	attempt     *attempt       // of done
	call        *dispatch.Call // of apply and reply
	due         time.Duration  // of apply: when the reply arrives
	event       dispatch.Event // of reply, done and drain
}

func (w *world) at(at time.Duration, o occurrence) {
	w.seq++
	o.at, o.tie, o.seq = at, w.rng.Uint32(), w.seq
	heap.Push(&w.queue, &o)
}

// isCurrent reports whether the event will make the engine's current process decide. It excludes ticks, whose deadline may have
// changed.
func (o *occurrence) isCurrent(e *engine) bool {
	return o.engine == e && o.kind != apply && o.kind != tick && (o.incarnation == e.incarnation || o.incarnation == anyIncarnation)
}

type events []*occurrence

func (h events) peek() *occurrence {
	if len(h) == 0 {
		return nil
	}
	return h[0]
}

func (h events) Len() int { return len(h) }

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

func (h *events) Push(x any) { *h = append(*h, x.(*occurrence)) }

func (h *events) Pop() any {
	last := len(*h) - 1
	o := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return o
}
