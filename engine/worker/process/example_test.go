package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/process"
	"pulley/engine/worker/procgroup"
)

// A shell script receives its arguments on standard input, and its last line on standard error may name the type of a failure.
func Example() {
	supervisor, err := procgroup.New()
	if err != nil {
		log.Fatal(err)
	}
	defer supervisor.Close(context.Background()) //nolint:errcheck // the program ends
	script := `read -r args; case $args in *-*) echo '{"type": "Overdrawn", "message": "no credit"}' >&2; exit 1;; esac; echo "{\"attempt\": $PULLEY_ATTEMPT}"`
	pay, err := process.New(process.Config{Command: []string{"sh", "-c", script}, Limits: process.Limits{Time: time.Minute, Output: 1 << 20}}, supervisor)
	if err != nil {
		log.Fatal(err)
	}
	registry, err := worker.NewRegistry(worker.Action{Name: "pay", Args: []string{"amount"}, Run: pay.Run})
	if err != nil {
		log.Fatal(err)
	}
	for _, args := range []string{`{"amount": 5}`, `{"amount": -5}`} { // an engine does this
		task := backend.Task{Action: "pay", Args: json.RawMessage(args + "\n"), Attempt: 1}
		task.Lease.Key.Instance = uuid.New()
		result, failure := registry.Execute(context.Background(), task)
		fmt.Println(string(result), failure)
	}
	// Output:
	// {"attempt":1} <nil>
	//  Overdrawn: no credit (@pay)
}
