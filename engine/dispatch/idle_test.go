package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// A claim for urgent work only says nothing of other work: the machine is not idle before it has claimed without.
func TestIdleAfterUrgentWork(t *testing.T) {
	m, err := dispatch.New(dispatch.Config{
		Owner: "a", Shards: 2, Slots: 4, Prefetch: 4, Batch: 16, BatchBytes: 1 << 20, Committers: 2, Pending: 1, Queue: 1, MaxDeliveries: 3,
		Lease: time.Hour, Poll: time.Second, Sweep: 24 * time.Hour, RetryMin: time.Second, RetryMax: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	usual, urgent := urgentProgram(t, fmt.Sprintf(stepsProgram, "usual"), 0), urgentProgram(t, fmt.Sprintf(stepsProgram, "urgent"), 5)
	claims := map[int]dispatch.Call{} // the last of each shard
	step := func(events ...dispatch.Event) {
		for _, command := range m.Step(now, events...) {
			if c, ok := command.(dispatch.Call); ok && c.Op == dispatch.OpClaim {
				claims[c.Shard] = c
			}
		}
	}
	answer := func(shard int, found backend.Committed) {
		t.Helper()
		c, ok := claims[shard]
		if !ok {
			t.Fatalf("shard %d was not claimed from", shard)
		}
		delete(claims, shard)
		step(dispatch.Reply{Call: c.ID, Committed: found})
	}
	task := func(shard int) backend.Task {
		id := uuid.New()
		for backend.ShardOf(id, 2) != shard {
			id = uuid.New()
		}
		program := usual
		if shard == 0 {
			program = urgent
		}
		return backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: id}, Token: 1}, Program: program, Action: "a", Attempt: 1, Deliveries: 1, Expires: now.Add(time.Hour)}
	}
	step()
	answer(1, backend.Committed{Tasks: []backend.Task{task(1)}})
	answer(0, backend.Committed{Tasks: []backend.Task{task(0)}, More: true})
	now = now.Add(time.Second)
	answer(0, backend.Committed{Tasks: []backend.Task{task(0)}, More: true})
	if c := claims[1]; c.Grant.Priority != 5 {
		t.Fatalf("the claim of the other shard is for the priority %d", c.Grant.Priority)
	}
	answer(1, backend.Committed{})
	answer(0, backend.Committed{})
	if m.Idle() {
		t.Error("it is idle, and has only looked for urgent work")
	}
	now = now.Add(time.Second)
	step()
	answer(1, backend.Committed{})
	answer(0, backend.Committed{})
	if !m.Idle() {
		t.Error("it is not idle after it has found nothing")
	}
}
