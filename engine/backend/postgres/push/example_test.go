package push_test

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

// A service stores a batch of instances in one transaction, in a shard whose new instances are its own engine's part. The engines
// of the schema run them; this program runs none.
func ExampleOpen() {
	program, err := plan.CompileText("welcome.ir", []byte("fn main(input: [to], output: []):\n    @send(to=to)\n"), ir.Limits{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	store, err := push.Open(ctx, push.Config{Store: postgres.Config{DSN: os.Getenv("PULLEY_DSN"), Connections: 4, Application: "mailer"}})
	if err != nil {
		log.Fatal(postgres.Explain(err))
	}
	defer store.Close()
	var batch []backend.Submission
	for len(batch) < 100 {
		if id := uuid.New(); store.IsLocal(backend.ShardOf(id, store.Shards())) {
			batch = append(batch, backend.Submission{ID: id, Program: program, Input: json.RawMessage(`{"to": "ada@example.com"}`)})
		}
	}
	stored, err := store.Submit(ctx, batch, backend.Grant{Owner: "mailer", Lease: time.Second}) // it leases nothing
	if err != nil {
		log.Fatal(err)
	}
	for i, outcome := range stored.Outcomes {
		log.Println(batch[i].ID, outcome.Answer, outcome.Err)
	}
	if err := store.Notify(ctx); err != nil {
		log.Fatal(err)
	}
}
