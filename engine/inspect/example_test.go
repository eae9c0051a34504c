package inspect_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/inspect"
)

// A program tells its user what an instance waits for.
func ExampleExplain() {
	spec, err := designs.Parse("push")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	store, err := spec.Open(ctx, designs.OpenOptions{DSN: os.Getenv("PULLEY_DSN"), Schema: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	shows, ok := store.(backend.Inspector)
	if !ok {
		log.Fatalf("backend %s does not show what it stores", spec)
	}
	s, err := shows.Inspect(ctx, uuid.MustParse(os.Args[1]), 100)
	if err != nil {
		log.Fatal(err)
	}
	why := inspect.Explain(s)
	fmt.Println(why.Sentence)
	if why.Waits[0].Reason == inspect.LostEngine {
		log.Print("an engine was lost: ", why.Waits[0].Engine)
	}
}
