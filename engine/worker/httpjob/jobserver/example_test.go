package jobserver_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"pulley/engine/worker/httpjob/jobserver"
)

// Replies are lost, and the client sends its request again until it has one. The server counts how often it has started the job
// that the key names.
func ExampleServer() {
	jobs := jobserver.New(jobserver.Config{
		Seed: 1, Faults: jobserver.Faults{Lost: 0.5, Errors: 0.2},
		Behave: func(s jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Result: s.Args} },
	})
	server := httptest.NewServer(jobs)
	defer server.Close()
	for stored := false; !stored && jobs.Requests() < 100; {
		start, err := http.NewRequest(http.MethodPost, server.URL+"/jobs", strings.NewReader(`{"job": "resize", "args": {"width": 100}}`))
		if err != nil {
			log.Fatal(err)
		}
		start.Header.Set("Idempotency-Key", "k1")
		reply, err := http.DefaultClient.Do(start)
		if err != nil {
			continue // the reply is lost
		}
		stored = reply.StatusCode == http.StatusCreated || reply.StatusCode == http.StatusOK
		reply.Body.Close() //nolint:errcheck // nothing was read
	}
	fmt.Println("several requests:", jobs.Requests() > 1, "starts:", jobs.Starts())
	// Output:
	// several requests: true starts: map[k1:1]
}
