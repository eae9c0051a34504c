package pool

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/worker"
)

func TestDesk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &deskWorld{desk: desk{maxDeliveries: rapid.IntRange(0, 4).Draw(t, "maxDeliveries")}}
		t.Repeat(map[string]func(*rapid.T){
			"":       w.check,
			"add":    func(t *rapid.T) { w.add(rapid.IntRange(0, max(w.desk.maxDeliveries-1, 0)).Draw(t, "deaths")) },
			"join":   func(t *rapid.T) { w.join(rapid.IntRange(1, 4).Draw(t, "slots")) },
			"answer": func(t *rapid.T) { w.answer(t) },
			"cancel": func(t *rapid.T) {
				w.desk.cancel(rapid.SampledFrom(w.some(t)).Draw(t, "attempt"), outcome{}, time.Time{})
			},
			"retire": func(t *rapid.T) {
				if s := w.seat(t); !s.leaving {
					w.desk.retire(s, time.Time{})
				}
			},
			"leave": func(t *rapid.T) { w.leave(w.seat(t), rapid.Bool().Draw(t, "counts")) },
		})
		// Once workers neither die nor are replaced, every attempt ends.
		for w.desk.waiting.Len()+w.desk.last.Len()+w.atWork() > 0 {
			w.join(1)
			for _, s := range w.desk.slots {
				for id := range s.work {
					w.desk.answer(s, strconv.FormatUint(id, 10), outcome{}, time.Time{})
				}
			}
			w.check(t)
		}
		for _, a := range w.attempts {
			if len(a.end) != 1 {
				t.Fatalf("%d ends were told of an attempt", len(a.end))
			}
		}
	})
}

type deskWorld struct {
	desk     desk
	attempts []*attempt
	sent     int
}

func (w *deskWorld) add(deaths int) {
	a := &attempt{end: make(chan outcome, 2), deliveries: deaths, deaths: deaths}
	w.sent += deaths
	w.attempts = append(w.attempts, a)
	w.desk.add(a, time.Time{})
}

func (w *deskWorld) join(slots int) {
	w.desk.join(&slot{
		slots: slots, work: map[uint64]*attempt{}, emptied: make(chan struct{}),
		send: func(parts ...[]byte) {
			if len(parts) == 2 {
				w.sent++
			}
		},
	}, time.Time{})
}

func (w *deskWorld) some(t *rapid.T) []*attempt {
	if len(w.attempts) == 0 {
		t.Skip("no attempts yet")
	}
	return w.attempts
}

func (w *deskWorld) seat(t *rapid.T) *slot {
	if len(w.desk.slots) == 0 {
		t.Skip("no workers")
	}
	return rapid.SampledFrom(w.desk.slots).Draw(t, "seat")
}

func (w *deskWorld) answer(t *rapid.T) {
	a := rapid.SampledFrom(w.some(t)).Draw(t, "attempt")
	s := a.slot
	if s == nil {
		t.Skip("it is not at work")
	}
	id := strconv.FormatUint(a.id, 10)
	if !w.desk.answer(s, id, outcome{}, time.Time{}) || w.desk.answer(s, id, outcome{}, time.Time{}) {
		t.Fatal("an answer is not taken, or taken twice")
	}
}

func (w *deskWorld) leave(s *slot, counts bool) {
	w.desk.leave(s, errors.New("it ended"), counts, time.Time{})
}

func (w *deskWorld) atWork() (n int) {
	for _, s := range w.desk.slots {
		n += len(s.work)
	}
	return n
}

func (w *deskWorld) check(t *rapid.T) {
	d := &w.desk
	waiting, ended, deliveries := 0, 0, 0
	for _, a := range w.attempts {
		deliveries += a.deliveries
		switch places := btoi(a.place != nil) + btoi(a.slot != nil) + len(a.end); {
		case places != 1:
			t.Fatalf("an attempt is in %d places: %+v", places, a)
		case a.place != nil:
			waiting++
		case len(a.end) > 0:
			ended++
		case a.slot.work[a.id] != a:
			t.Fatal("an attempt is not where it thinks")
		}
		if a.deaths > max(d.maxDeliveries, 1) {
			t.Fatalf("%d workers died with an attempt; the bound is %d", a.deaths, d.maxDeliveries)
		}
		if len(a.end) == 1 {
			o := <-a.end
			a.end <- o
			var typed *worker.Error
			var died *worker.DiedError
			if errors.As(o.err, &died) != (d.maxDeliveries == 0 && a.deaths > 0 && o.err != nil && !a.cancelled) {
				t.Fatalf("it ends with %v after %d deaths of %d", o.err, a.deaths, d.maxDeliveries)
			}
			if errors.As(o.err, &typed) && (typed.Type != TypeWorkerDied || a.deaths != d.maxDeliveries) {
				t.Fatalf("it failed with %v after %d deaths of %d", o.err, a.deaths, d.maxDeliveries)
			}
		}
	}
	if waiting != d.waiting.Len()+d.last.Len() || waiting+ended+w.atWork() != len(w.attempts) || w.sent != deliveries {
		t.Fatalf("of %d attempts %d wait, %d are at work, %d have ended; %d deliveries, %d sent", len(w.attempts), waiting, w.atWork(), ended, deliveries, w.sent)
	}
	keepsFree := 0
	for _, s := range d.slots {
		if len(s.work) > s.slots || s.alone && len(s.work) > 1 {
			t.Fatalf("a worker with %d slots has %d attempts; alone: %v", s.slots, len(s.work), s.alone)
		}
		if s.hasRoom() && d.waiting.Len() > 0 {
			t.Fatal("an attempt waits while a worker has room")
		}
		if !s.leaving && len(s.work) == 0 && waiting > 0 {
			t.Fatal("an attempt waits while a worker has none")
		}
		keepsFree += btoi(s.reserved && !s.leaving)
		for _, a := range s.work {
			if a.isLast(d.maxDeliveries) && !s.alone {
				t.Fatal("an attempt's last delivery is not alone")
			}
		}
	}
	if keepsFree > 1 || keepsFree > 0 && d.last.Len() == 0 {
		t.Fatalf("%d workers are kept free for %d attempts", keepsFree, d.last.Len())
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A worker that ends after bye may take longer than one that answers a cancel, unless the caller says how long.
func TestGraces(t *testing.T) {
	for said, want := range map[time.Duration][2]time.Duration{0: {GraceDefault, ByeGraceDefault}, time.Second: {time.Second, time.Second}, -1: {0, 0}} {
		c := Config{Command: []string{"sh"}, Grace: said}
		if err := c.validate(); err != nil || c.Grace != want[0] || c.byeGrace != want[1] {
			t.Errorf("%v: %v, %v, %v; want %v", said, c.Grace, c.byeGrace, err, want)
		}
	}
}
