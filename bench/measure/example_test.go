package measure_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
)

// A benchmark of one's own asks the server what its workload cost. The sessions of the workload have application names that
// begin with "orders".
func ExampleDelta() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("PULLEY_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx) //nolint:errcheck // the program ends
	scope := measure.Scope{AppPrefix: "orders", Schema: "orders"}
	before, err := measure.Snapshot(ctx, conn, scope)
	if err != nil {
		log.Fatal(err)
	}
	// The workload runs, and disconnects.
	after, err := measure.Snapshot(ctx, conn, scope)
	if err != nil {
		log.Fatal(err)
	}
	cost, warnings := measure.Delta(before, after)
	log.Print(cost)
	for _, warning := range warnings {
		log.Print(warning)
	}
}

// A recorded command line has no password.
func ExampleCommand() {
	fmt.Println(measure.Command([]string{"pulley", "run", "--dsn", "postgres://work:secret@db/work"}))
	// Output:
	// [pulley run --dsn postgres://work:***@db/work]
}
