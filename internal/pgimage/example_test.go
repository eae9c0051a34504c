package pgimage_test

import (
	"context"
	"log"
	"time"

	"github.com/moby/moby/client"

	"pulley/internal/pgimage"
)

// Tests that want Postgres in a container have the image made where no registry can be reached, once for all of them.
func ExampleEnsure() {
	docker, err := client.New(client.FromEnv)
	if err != nil {
		log.Fatal(err)
	}
	defer docker.Close() //nolint:errcheck // the program ends
	ctx, cancel := context.WithTimeout(context.Background(), pgimage.Within)
	defer cancel()
	began := time.Now()
	if err := pgimage.Ensure(ctx, docker); err != nil {
		log.Fatal(err)
	}
	log.Printf("docker run %s: it was ready after %s", pgimage.Name, time.Since(began).Round(time.Second))
}
