package pool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/procgroup"
)

// upper is a worker in a few lines of shell: it says hello, and answers each attempt.
const upper = `
echo '{"pulley":"hello","version":1,"name":"upper","actions":[{"name":"upper","args":["text"]}]}'
while read -r line; do
	case $line in
	'{"pulley":"run"'*) id=${line#*'"id":"'} text=${line#*'"text":"'}
		echo "{\"pulley\":\"result\",\"id\":\"${id%%\"*}\",\"value\":\"$(echo "${text%%\"*}" | tr a-z A-Z)\"}" ;;
	'{"pulley":"bye"'*) exit 0 ;;
	esac
done`

// A pool keeps workers, and registers the actions that they know.
func Example() {
	supervisor, err := procgroup.New()
	if err != nil {
		log.Fatal(err)
	}
	workers, err := pool.New(pool.Config{Command: []string{"sh", "-c", upper}, Processes: 2}, supervisor)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := workers.Start(ctx); err != nil {
		log.Fatal(err)
	}
	registry, err := worker.NewRegistry(workers.Actions()...)
	if err != nil {
		log.Fatal(err)
	}
	task := backend.Task{Action: "upper", Args: json.RawMessage(`{"text":"hello"}`), Attempt: 1, Deliveries: 1}
	task.Lease.Key.Instance = uuid.New()
	result, failure := registry.Execute(ctx, task) // an engine does this
	fmt.Println(string(result), failure)
	fmt.Println(workers.Close(ctx), supervisor.Close(ctx))
	// Output:
	// "HELLO" <nil>
	// <nil> <nil>
}
