package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// A test moves the store's clock, and so sees within no time what happens to a task whose engine is too late: the lease expires,
// another engine receives the task, and the first one's completion is stale.
func Example() {
	program, err := plan.CompileText("hello.ir", []byte("fn main(input: [], output: [x]):\n    x = @work()\n    return x\n"), ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	now := time.Unix(0, 0)
	store := memory.New(memory.Options{Clock: func() time.Time { return now }})
	defer store.Close()

	ctx, id := context.Background(), uuid.New()
	slow, quick := backend.Grant{Owner: "slow", Max: 1, Lease: time.Minute}, backend.Grant{Owner: "quick", Max: 1, Lease: time.Minute}
	first, err := store.Submit(ctx, []backend.Submission{{ID: id, Program: program, Input: json.RawMessage("{}")}}, slow)
	if err != nil {
		log.Fatal(err)
	}
	now = now.Add(time.Hour)
	second, err := store.Claim(ctx, 0, quick)
	if err != nil {
		log.Fatal(err)
	}
	for _, task := range []backend.Task{first.Tasks[0], second.Tasks[0]} {
		done := backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: json.RawMessage("1")}
		answer, err := store.Complete(ctx, 0, []backend.Completion{done}, quick)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("delivery", task.Deliveries, "of", task.Action, "is", answer.Outcomes[0].Answer)
	}
	instances, err := store.Lookup(ctx, []uuid.UUID{id})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(instances[0].Status, string(instances[0].Result))
	// Output:
	// delivery 1 of work is stale
	// delivery 2 of work is applied
	// completed 1
}
