package pgserver_test

import (
	"context"
	"fmt"
	"log"

	"pulley/engine/pgserver"
)

// A program uses whatever Postgres is available, and prints which one.
func ExampleOpen() {
	ctx := context.Background()
	server, err := pgserver.Open(ctx, pgserver.Options{Log: func(line string) { log.Print(line) }})
	if err != nil {
		log.Fatal(err) // one line: what each way lacks, and what to do
	}
	defer func() {
		if err := server.Close(ctx); err != nil {
			log.Print(err)
		}
	}()
	fmt.Println(server.Describe())
	if weak := server.Durability().Weakness(); weak != "" {
		fmt.Println("figures about durable work mean little here:", weak)
	}
	// Connect to server.DSN().
}
