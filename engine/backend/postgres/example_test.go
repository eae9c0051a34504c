package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
)

// A tool for operators opens the schema of a design only if an engine has made it.
func ExampleExists() {
	ctx, dsn, schema := context.Background(), os.Getenv("PULLEY_DSN"), "pulley_push"
	there, err := postgres.Exists(ctx, dsn, schema)
	if err != nil {
		log.Fatal(err)
	}
	if !there {
		log.Fatalf("no engine has worked in schema %s yet", schema)
	}
	store, err := push.Open(ctx, push.Config{Store: postgres.Config{DSN: dsn, Schema: schema, Application: "watch"}})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(schema, "has", store.Shards(), "shards")
	if err := store.Listen(ctx, func() { fmt.Println("an engine has made work ready") }); err != nil {
		log.Fatal(err)
	}
}

// A program that made a schema for one run removes it at the end.
func ExampleDropSchema() {
	if err := postgres.DropSchema(context.Background(), os.Getenv("PULLEY_DSN"), "trial"); err != nil {
		log.Fatal(err)
	}
}
