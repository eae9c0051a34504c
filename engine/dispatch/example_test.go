package dispatch_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
)

// The owner of a machine passes it events, and executes its commands. A test needs neither a clock nor a store: here a claim
// finds two tasks for one slot.
func ExampleMachine() {
	m, err := dispatch.New(dispatch.Config{
		Owner: "a", Shards: 1, Slots: 1, Prefetch: 1, Batch: 16, BatchBytes: 1 << 20, Committers: 1, Pending: 1, Queue: 1, MaxDeliveries: 3,
		Lease: time.Minute, Poll: time.Second, Sweep: time.Hour, RetryMin: time.Second, RetryMax: time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	now := time.Unix(0, 0)
	step := func(events ...dispatch.Event) (call dispatch.CallID, task dispatch.TaskID) {
		now = now.Add(time.Millisecond)
		for _, command := range m.Step(now, events...) {
			switch c := command.(type) {
			case dispatch.Call:
				fmt.Println("call", c.Op, "with", len(c.Completions), "completions, leasing up to", c.Grant.Max)
				if c.Op != dispatch.OpSweep {
					call = c.ID
				}
			case *dispatch.Start:
				fmt.Println("start", c.Task.Action)
				task = c.ID
			}
		}
		return call, task
	}
	found := func(action string) backend.Task {
		return backend.Task{Lease: backend.Lease{Key: backend.Key{Instance: uuid.New()}, Token: 1}, Action: action, Attempt: 1, Deliveries: 1, Expires: now.Add(time.Minute)}
	}
	claim, _ := step()
	_, task := step(dispatch.Reply{Call: claim, Committed: backend.Committed{Tasks: []backend.Task{found("pay"), found("pack")}}})
	step(dispatch.Done{Task: task, Result: json.RawMessage("1")})
	// Output:
	// call claim with 0 completions, leasing up to 1
	// start pay
	// start pack
	// call complete with 1 completions, leasing up to 1
}
