package pgwire_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver/pgwire"
)

// The test of a program that writes to Postgres loses the server's answer to a COMMIT: what does the program conclude?
func ExampleListen() {
	proxy, err := pgwire.Listen(os.Getenv("PULLEY_DSN"), func(conn uint64) pgwire.Judge {
		return func(m *pgwire.Message) pgwire.Verdict {
			if !m.Client && m.Type() == 'C' { // a command is complete
				if command, _ := pgwire.Text(m.Body()); command == "COMMIT" {
					return pgwire.Verdict{End: pgwire.Reset}
				}
			}
			return pgwire.Verdict{Deliver: true}
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer proxy.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, proxy.DSN())
	if err != nil {
		log.Fatal(err)
	}
	_, err = conn.Exec(ctx, "BEGIN; INSERT INTO orders VALUES (1); COMMIT")
	fmt.Println("the order is there, and the client has an error:", err)
}
