package hosts_test

import (
	"context"
	"log"
	"os"
	"time"

	"pulley/chaos/hosts"
)

// A program runs in a container, which loses its network for a while: what does it do when it is back? This needs Docker.
func ExampleHost_Disconnect() {
	ctx := context.Background()
	all, err := hosts.Open(ctx, func(line string) { log.Print(line) })
	if err != nil {
		log.Fatal(err)
	}
	defer all.Close(ctx) //nolint:errcheck // the program ends
	host, err := all.Add(ctx)
	if err != nil {
		log.Fatal(err)
	}
	program, err := host.Start(ctx, []string{"./server", "--dsn", os.Getenv("PULLEY_DSN")}, []string{"MODE=test"}, os.Stderr)
	if err != nil {
		log.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	if err := host.Disconnect(ctx); err != nil {
		log.Fatal(err)
	}
	time.Sleep(10 * time.Second) // its connections wait
	if err := host.Connect(ctx); err != nil {
		log.Fatal(err)
	}
	log.Print("its process is ", program.PID())
}
