package dispatch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// A task whose action the engine does not have is returned with a pause that grows, is reported once a minute, and is never started;
// other tasks are.
func TestUnknownActionsAreLeft(t *testing.T) {
	m, err := dispatch.New(dispatch.Config{
		Owner: "a", Shards: 1, Slots: 4, Prefetch: 4, Batch: 16, BatchBytes: 1 << 20, Committers: 1, Pending: 1, Queue: 1, MaxDeliveries: 3,
		Lease: time.Hour, Poll: time.Second, Sweep: 24 * time.Hour, RetryMin: time.Second, RetryMax: time.Minute,
		Knows: func(action string) bool { return action == "old" },
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	var claim, renew dispatch.CallID
	var pause time.Duration
	started, reported := []string{}, 0
	step := func(events ...dispatch.Event) {
		for _, command := range m.Step(now, events...) {
			switch c := command.(type) {
			case dispatch.Call:
				switch c.Op {
				case dispatch.OpClaim:
					claim = c.ID
				case dispatch.OpRenew:
					renew, pause = c.ID, c.Grant.Pause
					if c.Grant.Lease != 0 || len(c.Leases) != 1 {
						t.Errorf("%d leases are renewed for %v", len(c.Leases), c.Grant.Lease)
					}
				}
			case *dispatch.Start:
				started = append(started, c.Task.Action)
			case dispatch.Report:
				if !errors.Is(c.Err, dispatch.ErrActionElsewhere) {
					t.Error(c.Err)
				}
				reported++
			}
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
	}
	found := func(action string, deliveries int) backend.Task {
		return backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: uuid.New()}, Token: 1}, Action: action, Attempt: 1, Deliveries: deliveries, Expires: now.Add(time.Hour)}
	}
	step()
	var pauses []time.Duration
	for range 40 {
		step(dispatch.Reply{Call: claim, Committed: backend.Committed{Tasks: []backend.Task{found("new", 1)}}})
		pauses = append(pauses, pause)
		step(dispatch.Reply{Call: renew, Held: []bool{true}})
		now = now.Add(max(pause, time.Second))
		step()
	}
	if first, last := pauses[0], pauses[len(pauses)-1]; first != 250*time.Millisecond || last != 15*time.Second {
		t.Errorf("the pauses are %v", pauses)
	}
	if passed := now.Sub(time.Unix(1000, 0)); reported < int(passed/(80*time.Second)) || reported > int(passed/time.Minute)+1 {
		t.Errorf("%d reports in %v", reported, passed)
	}
	step(dispatch.Reply{Call: claim, Committed: backend.Committed{Tasks: []backend.Task{found("old", 1)}}})
	if len(started) != 1 || started[0] != "old" {
		t.Errorf("started %v", started)
	}
}
