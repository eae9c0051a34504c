package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend/postgres"
)

// A tool for operators looks at a design's schema without making one, and waits until work comes there.
func ExampleOpen() {
	ctx, dsn, schema := context.Background(), os.Getenv("PULLEY_DSN"), "pulley_push"
	there, err := postgres.Exists(ctx, dsn, schema)
	if err != nil {
		log.Fatal(postgres.Explain(err))
	}
	if !there {
		log.Fatalf("no engine has worked in schema %s yet", schema)
	}
	store, err := postgres.Open(ctx, postgres.Config{DSN: dsn, Schema: schema, Application: "watch"}, os.DirFS("push")) // the directory migrations of the design
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	fmt.Println(schema, "has", store.Shards(), "shards")
	if err := store.Listen(ctx, func() { fmt.Println("an engine has made work ready") }); err != nil {
		log.Fatal(err)
	}
}

// What to do about an error follows from what it leaves open.
func ExampleUnconfirmed() {
	for _, err := range []error{
		&pgconn.PgError{Severity: "ERROR", Code: "40P01", Message: "deadlock detected"},
		&pgconn.PgError{Severity: "ERROR", Code: "22P05", Message: "unsupported Unicode escape sequence"},
		errors.New("read tcp: connection reset by peer"),
	} {
		switch {
		case postgres.Contended(err):
			fmt.Println("make the call again:", err)
		case postgres.Poisoned(err):
			fmt.Println("leave out the member that is at fault:", err)
		case postgres.Unconfirmed(err):
			fmt.Println("find out whether it was committed:", err)
		}
	}
	// Output:
	// make the call again: ERROR: deadlock detected (SQLSTATE 40P01)
	// leave out the member that is at fault: ERROR: unsupported Unicode escape sequence (SQLSTATE 22P05)
	// find out whether it was committed: read tcp: connection reset by peer
}
