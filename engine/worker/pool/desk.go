package pool

import (
	"cmp"
	"container/list"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/protocol"
)

type outcome struct {
	value json.RawMessage
	err   error
}

type attempt struct {
	action   string
	fields   []byte // of its run line; see protocol.AppendRun
	deadline time.Time
	end      chan outcome // buffered; receives one outcome

	deliveries int // to workers so far, including earlier engines'
	deaths     int // of those workers, if they count

	// At most one is set; neither: it has ended.
	place *list.Element // in one of the desk's queues
	slot  *slot         // which executes it

	id        uint64
	cancelled bool // no caller waits for it any more
}

// deliveriesUsual is an engine's default bound.
const deliveriesUsual = 5

// isLast reports whether the attempt's next delivery is probably its last. That delivery is alone in its worker, so that no
// other attempt can be the cause of a death. A first delivery is not alone, since nothing speaks against it.
func (a *attempt) isLast(most int) bool {
	return a.deaths > 0 && a.deaths+1 >= cmp.Or(most, deliveriesUsual)
}

// slot holds the attempts of one worker, from its hello to its end.
type slot struct {
	slots int
	send  func(parts ...[]byte) // must not block
	work  map[uint64]*attempt
	owner *member

	alone    bool          // its attempt must be alone
	reserved bool          // it gets no attempt until it is empty, then one that must be alone
	leaving  bool          // it gets no more attempts
	emptied  chan struct{} // closed when it is leaving and empty
	answers  int
}

func (s *slot) hasRoom() bool {
	return !s.leaving && !s.alone && !s.reserved && len(s.work) < s.slots
}

// desk assigns attempts to workers. It neither waits nor starts anything; times are arguments. It is not safe for concurrent
// use.
//
// Invariants: an attempt is in one queue or in one slot, or has ended. A slot has at most its number of attempts. An attempt
// that is alone in a slot stays so. While a worker has room, no attempt waits that may go there.
type desk struct {
	maxDeliveries int       // 0: the engine handles deliveries after a death
	waiting       list.List // of *attempt, in order
	last          list.List
	slots         []*slot
	nextID        uint64
}

func (d *desk) add(a *attempt, now time.Time) {
	if a.isLast(d.maxDeliveries) {
		a.place = d.last.PushBack(a)
	} else {
		a.place = d.waiting.PushBack(a)
	}
	d.deliver(now)
}

func (d *desk) join(s *slot, now time.Time) {
	d.slots = append(d.slots, s)
	d.deliver(now)
}

func (d *desk) deliver(now time.Time) {
	d.deliverLast(now)
	for d.waiting.Len() > 0 {
		s := d.emptiest()
		if s == nil {
			return
		}
		d.release(s, &d.waiting, now)
	}
}

// deliverLast delivers attempts that must be alone to empty workers, and reserves one worker for the next.
func (d *desk) deliverLast(now time.Time) {
	keeps := false // a worker has one alone, or is reserved
	for _, s := range d.slots {
		if d.last.Len() > 0 && !s.leaving && len(s.work) == 0 {
			s.reserved, s.alone = false, true
			d.release(s, &d.last, now)
		}
		keeps = keeps || !s.leaving && (s.alone || s.reserved)
	}
	if d.last.Len() == 0 {
		for _, s := range d.slots {
			s.reserved = false
		}
		return
	}
	if keeps {
		return
	}
	if s := cmp.Or(d.emptiest(), d.full()); s != nil {
		s.reserved = true
	}
}

// emptiest is the worker with the largest free share; nil if none is free.
func (d *desk) emptiest() (best *slot) {
	for _, s := range d.slots {
		if s.hasRoom() && (best == nil || len(s.work)*best.slots < len(best.work)*s.slots) {
			best = s
		}
	}
	return best
}

func (d *desk) full() *slot {
	for _, s := range d.slots {
		if !s.leaving && !s.alone {
			return s
		}
	}
	return nil
}

func (d *desk) release(s *slot, from *list.List, now time.Time) {
	a := from.Remove(from.Front()).(*attempt)
	d.nextID++
	a.deliveries++
	a.place, a.slot, a.id = nil, s, d.nextID
	s.work[a.id] = a
	var timeoutMS int64
	if !a.deadline.IsZero() {
		timeoutMS = max(a.deadline.Sub(now).Milliseconds(), 1)
	}
	s.send(protocol.AppendRun(nil, a.id, a.deliveries, timeoutMS, nil), a.fields)
}

// answer ends a delivery. It reports whether a caller waited for it.
func (d *desk) answer(s *slot, id string, o outcome, now time.Time) bool {
	n, err := strconv.ParseUint(id, 10, 64)
	a := s.work[n]
	if err != nil || a == nil {
		return false
	}
	delete(s.work, n)
	s.alone = false
	s.answers++
	a.finish(o)
	if s.leaving && len(s.work) == 0 {
		close(s.emptied)
	}
	d.deliver(now)
	return true
}

func (a *attempt) finish(o outcome) {
	a.place, a.slot = nil, nil
	a.end <- o
}

// cancel removes an unwanted attempt. A running one stays until its worker answers or ends, and cancel returns its slot.
func (d *desk) cancel(a *attempt, o outcome, now time.Time) *slot {
	switch {
	case a.place != nil:
		d.waiting.Remove(a.place) // no-op if it is in the other queue
		d.last.Remove(a.place)
		a.finish(o)
		d.deliver(now) // a reservation may have become unnecessary
	case a.slot != nil && !a.cancelled:
		a.cancelled = true
		a.slot.send(protocol.Cancel(a.id))
	}
	return a.slot
}

// retire gives a worker no more attempts. It is called once for a worker.
func (d *desk) retire(s *slot, now time.Time) {
	s.leaving = true
	if len(s.work) == 0 {
		close(s.emptied)
	}
	d.deliver(now) // it may be the reserved one
}

// leave removes an ended worker, and delivers its attempts again. Its end counts as a death of theirs if counts.
func (d *desk) leave(s *slot, why error, counts bool, now time.Time) {
	s.leaving = true
	d.slots = slices.DeleteFunc(d.slots, func(other *slot) bool { return other == s })
	left := slices.Collect(maps.Values(s.work))
	slices.SortFunc(left, func(a, b *attempt) int { return cmp.Compare(b.id, a.id) }) // restores their order
	for _, a := range left {
		delete(s.work, a.id)
		if counts {
			a.deaths++
		}
		switch {
		case a.cancelled:
			a.finish(outcome{err: why})
		case counts && d.maxDeliveries == 0:
			a.finish(outcome{err: &worker.DiedError{Cause: why}})
		case d.maxDeliveries > 0 && a.deaths >= d.maxDeliveries:
			a.finish(outcome{err: died(a, why)})
		case a.isLast(d.maxDeliveries):
			a.slot, a.place = nil, d.last.PushBack(a)
		default:
			a.slot, a.place = nil, d.waiting.PushFront(a)
		}
	}
	d.deliver(now)
}

func died(a *attempt, why error) error {
	return &worker.Error{Type: TypeWorkerDied, Message: fmt.Sprintf(
		"action %s: %s died with the attempt, at the last: %v; the worker's log may say why", a.action, times(a.deaths), why)}
}

func times(n int) string {
	if n == 1 {
		return "the worker"
	}
	return strconv.Itoa(n) + " workers"
}

func (d *desk) fail(err error) {
	for _, queue := range []*list.List{&d.last, &d.waiting} {
		for queue.Len() > 0 {
			queue.Remove(queue.Front()).(*attempt).finish(outcome{err: err})
		}
	}
}
