package instances_test

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/reports/instances"
	"pulley/reports/serve"
)

// A program that embeds the engine shows its instances on a server of its own.
func ExampleStore() {
	spec, err := designs.Parse("push")
	if err != nil {
		log.Fatal(err)
	}
	store, err := spec.Open(context.Background(), designs.OpenOptions{DSN: os.Getenv("PULLEY_DSN"), Schema: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	shown, err := serve.New(serve.Config{
		Address: "127.0.0.1:8090", Instances: instances.Store{Backend: store.(backend.Inspector), Name: "orders", Tool: "shop 1.2"},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := http.Server{Addr: "127.0.0.1:8090", Handler: shown.Handler(), ReadHeaderTimeout: 5 * time.Second}
	if err := server.ListenAndServe(); err != nil {
		log.Print(err)
	}
}
