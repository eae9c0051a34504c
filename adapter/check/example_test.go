package check_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"pulley/adapter/check"
)

// The author of an adapter has it checked in the adapter's tests. This one says hello in a version that nobody speaks.
func ExampleRun() {
	const adapter = `read line; echo '{"pulley":"hello","version":7,"name":"mine","system":"a queue","system_version":"1","promises":{},"shapes":["single"]}'; cat > /dev/null`
	report, err := check.Run(context.Background(), check.Options{
		Command: []string{"sh", "-c", adapter},
		DSN:     "", // of a Postgres, for an adapter that needs one
		Timeout: time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
	// Output:
	// hello: expected a hello that is right; came one where version is 7; pulley speaks version 1; correct that; docs/adapter.md has its fields
}
