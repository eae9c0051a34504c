package designs_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"pulley/engine/backend/designs"
)

// A program has a flag for the design, as pulley itself has, and opens what its user names.
func ExampleSpec_Open() {
	name := flag.String("backend", "push", "where workflows are stored")
	flag.Parse()
	spec, err := designs.Parse(*name)
	if err != nil {
		log.Fatal(err)
	}
	store, err := spec.Open(context.Background(), designs.OpenOptions{
		DSN: os.Getenv("PULLEY_DSN"), Schema: "orders", Connections: 8,
		Problem: func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(spec, "has", store.Shards(), "shards")
}

// A specification is checked before a database is needed.
func ExampleParse() {
	for _, text := range []string{"memory", "push:batch=1", "psh", "pull:scan=most"} {
		spec, err := designs.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(spec, "needs Postgres:", spec.NeedsPostgres(), "commits of", spec.Batch())
	}
	// Output:
	// memory needs Postgres: false commits of 0
	// push:batch=1 needs Postgres: true commits of 1
	// there is no backend "psh", did you mean "push"?
	// backend "pull:scan=most": scan is "most"; choose app or sql
}
