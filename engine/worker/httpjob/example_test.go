package httpjob_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob"
	"pulley/engine/worker/httpjob/jobserver"
)

func Example() {
	server := httptest.NewServer(jobserver.New(jobserver.Config{Tokens: []string{"t"}, Behave: func(s jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: 20 * time.Millisecond, Result: json.RawMessage(`{"width": 100}`)}
	}}))
	defer server.Close()
	jobs, err := httpjob.New(httpjob.Config{URL: server.URL + "/jobs", Token: httpjob.StaticToken("t"), Poll: 10 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := jobs.Close(context.Background()); err != nil {
			fmt.Println(err)
		}
	}()
	resize, err := jobs.Func(httpjob.Job{Name: "resize", Limit: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := worker.NewRegistry(worker.Action{Name: "resize", Args: []string{"image"}, Run: resize})
	if err != nil {
		fmt.Println(err)
		return
	}
	// An engine does this.
	task := backend.Task{Action: "resize", Args: json.RawMessage(`{"image": "a.png"}`), Attempt: 1}
	task.Lease.Key.Instance = uuid.New()
	result, failure := registry.Execute(context.Background(), task)
	fmt.Println(string(result), failure)
	// Output: {"width":100} <nil>
}
