package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"pulley/engine/worker/pool/check"
)

// The tests of a worker check it. This one says hello as a version that nobody speaks.
func ExampleRun() {
	const worker = `echo '{"pulley":"hello","version":7,"name":"upper","actions":[{"name":"upper","args":["text"]}]}'; cat > /dev/null`
	report, err := check.Run(context.Background(), check.Options{
		Command: []string{"sh", "-c", worker},
		Run:     &check.Call{Action: "upper", Args: json.RawMessage(`{"text": "hello"}`)},
		Timeout: time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
	// Output:
	// hello: expected a hello that is right; came one where its version of the protocol is 7; pulley speaks version 1; correct that; docs/worker-protocol.md has its fields
}
