package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
)

// turnWorld answers the claims of a machine with one shard.
type turnWorld struct {
	*testing.T
	m   *dispatch.Machine
	now time.Time
}

func newTurnWorld(t *testing.T, fair bool) *turnWorld {
	m, err := dispatch.New(dispatch.Config{
		Owner: "a", Shards: 1, Slots: 1000, Prefetch: 0, Batch: 16, BatchBytes: 1 << 20, Committers: 2, Pending: 1, Queue: 1, MaxDeliveries: 3,
		Fair: fair, Lease: time.Hour, Poll: time.Second, Sweep: 24 * time.Hour, RetryMin: 50 * time.Millisecond, RetryMax: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &turnWorld{t, m, time.Unix(1000, 0)}
}

// claimed passes events to the machine, and returns its claim.
func (w *turnWorld) claimed(events ...dispatch.Event) dispatch.Call {
	w.Helper()
	var found []dispatch.Call
	for _, command := range w.m.Step(w.now, events...) {
		if c, ok := command.(dispatch.Call); ok && c.Op == dispatch.OpClaim {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		w.Fatalf("%d claims, want one", len(found))
	}
	return found[0]
}

func (w *turnWorld) task(p *plan.Program) backend.Task {
	return backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: uuid.New()}, Token: 1}, Program: p, Action: "a", Attempt: 1, Deliveries: 1, Expires: w.now.Add(time.Hour)}
}

// Each order has a third of the claims of a backlog, and what waits alone is claimed by time.
func TestOrdersTakeTurns(t *testing.T) {
	usual := urgentProgram(t, fmt.Sprintf(stepsProgram, "usual"), 0)
	for _, fair := range []bool{false, true} {
		w := newTurnWorld(t, fair)
		c := w.claimed()
		if c.Grant.Order != backend.ByTime || c.Grant.Fair != fair {
			t.Errorf("fair: %t: the first claim is by order %d, and fair is %t", fair, c.Grant.Order, c.Grant.Fair)
		}
		count := map[backend.Order]int{}
		for range 30 {
			c = w.claimed(dispatch.Reply{Call: c.ID, Committed: backend.Committed{Tasks: []backend.Task{w.task(usual)}, More: true}})
			count[c.Grant.Order]++
		}
		want := map[backend.Order]int{backend.ByTime: 30}
		if fair {
			want = map[backend.Order]int{backend.ByTime: 10, backend.ByWorkflow: 10, backend.ByInstance: 10}
		}
		if fmt.Sprint(count) != fmt.Sprint(want) {
			t.Errorf("fair: %t: claims by order: %v, want %v", fair, count, want)
		}
		w.m.Step(w.now, dispatch.Reply{Call: c.ID, Committed: backend.Committed{Tasks: []backend.Task{w.task(usual)}}})
		w.now = w.now.Add(2 * time.Second)
		if c = w.claimed(); c.Grant.Order != backend.ByTime {
			t.Errorf("fair: %t: without a backlog, a claim is by order %d", fair, c.Grant.Order)
		}
	}
}

// Turns that bring nothing are followed by the next claim at once; one by time that brings nothing is not, since others have locked all, and
// the pause after it grows whatever turns bring in between.
func TestEmptyTurns(t *testing.T) {
	w := newTurnWorld(t, true)
	nothing := backend.Committed{More: true}
	c := w.claimed()
	c = w.claimed(dispatch.Reply{Call: c.ID, Committed: backend.Committed{Tasks: []backend.Task{w.task(urgentProgram(t, fmt.Sprintf(stepsProgram, "usual"), 0))}, More: true}})
	var last time.Duration
	for range 3 {
		for c.Grant.Order != backend.ByTime {
			c = w.claimed(dispatch.Reply{Call: c.ID, Committed: nothing})
		}
		for _, command := range w.m.Step(w.now, dispatch.Reply{Call: c.ID, Committed: nothing}) {
			if again, ok := command.(dispatch.Call); ok {
				t.Errorf("a claim by time that brought nothing is followed at once by %+v", again)
			}
		}
		pause := w.m.Next().Sub(w.now)
		if pause <= last {
			t.Errorf("the pause is %v after one of %v", pause, last)
		}
		last, w.now = pause, w.m.Next()
		c = w.claimed()
	}
}

// Where urgent work waits, there are no turns.
func TestUrgentWorkHasNoTurns(t *testing.T) {
	w := newTurnWorld(t, true)
	urgent := urgentProgram(t, fmt.Sprintf(stepsProgram, "urgent"), 5)
	c := w.claimed()
	for range 10 {
		if c = w.claimed(dispatch.Reply{Call: c.ID, Committed: backend.Committed{Tasks: []backend.Task{w.task(urgent)}, More: true}}); c.Grant.Order != backend.ByTime {
			t.Fatalf("a claim is by order %d", c.Grant.Order)
		}
	}
}
