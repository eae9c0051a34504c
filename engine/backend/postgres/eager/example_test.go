package eager_test

import (
	"context"
	"log"
	"os"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
)

// A tool ends the instances that its arguments name, in a schema that shares a database with others, and removes what they have left.
func ExampleOpen() {
	ctx := context.Background()
	store, err := eager.Open(ctx, eager.Config{Store: postgres.Config{DSN: os.Getenv("PULLEY_DSN"), Schema: "orders", Connections: 2}})
	if err != nil {
		log.Fatal(postgres.Explain(err))
	}
	defer store.Close()
	var ids []uuid.UUID
	for _, text := range os.Args[1:] {
		id, err := uuid.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		ids = append(ids, id)
	}
	instances, err := store.Cancel(ctx, ids, "the shop is closed")
	if err != nil {
		log.Fatal(err)
	}
	for _, instance := range instances {
		log.Println(instance.ID, instance.Status)
		for more := true; more; {
			swept, err := store.Sweep(ctx, backend.ShardOf(instance.ID, store.Shards()))
			if err != nil {
				log.Fatal(err)
			}
			more = swept.More
		}
	}
}
