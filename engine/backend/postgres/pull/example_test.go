package pull_test

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
)

// A worker of the literal design, without an engine: it claims one node run at a time, and completes it with what its arguments
// are. One query looks for what is runnable.
func ExampleOpen() {
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	store, err := pull.Open(ctx, pull.Config{Store: postgres.Config{DSN: os.Getenv("PULLEY_DSN")}, Scan: pull.ScanSQL})
	if err != nil {
		log.Fatal(postgres.Explain(err))
	}
	defer store.Close()
	one := backend.Grant{Owner: "echo", Max: 1, Lease: time.Minute}
	for shard := 0; ctx.Err() == nil; shard = (shard + 1) % store.Shards() {
		found, err := store.Claim(ctx, shard, one)
		if err != nil {
			log.Fatal(err)
		}
		for _, task := range found.Tasks {
			done := backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: task.Args}
			if task.Action == "" { // a sleep that is over
				done.Result = json.RawMessage("null")
			}
			nothing := backend.Grant{Owner: one.Owner, Lease: one.Lease}
			answer, err := store.Complete(ctx, shard, []backend.Completion{done}, nothing)
			if err != nil {
				log.Fatal(err)
			}
			log.Println(task.Action, answer.Outcomes[0].Answer)
		}
	}
}
