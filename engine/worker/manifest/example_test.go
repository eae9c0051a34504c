package manifest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/manifest"
)

// A service takes actions that are programs from a file of its operators, in addition to those that it has in Go.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "actions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary directory
	file := filepath.Join(dir, "actions.yaml")
	text := "actions:\n  count: {process: [wc, -c], args: [text], limits: {time: 10s}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	actions, err := manifest.Open(file, manifest.Options{Log: func(action, line string) { log.Print(action, ": ", line) }})
	if err != nil {
		log.Fatal(err)
	}
	registry, err := worker.NewRegistry()
	if err != nil {
		log.Fatal(err)
	}
	if err := actions.Register(registry); err != nil {
		log.Fatal(err)
	}
	task := backend.Task{Action: "count", Args: json.RawMessage(`{"text": "hello"}`), Attempt: 1}
	task.Lease.Key.Instance = uuid.New()
	result, failure := registry.Execute(context.Background(), task) // an engine does this
	fmt.Println(string(result), failure)
	fmt.Println(actions.Close(context.Background()))
	// Output:
	// 17 <nil>
	// <nil>
}
