package httpjob_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/httpjob"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/engine/worker/workertest"
)

// The jobs are plain: those of Cloud Run take no arguments as large as the contract's.
func TestContract(t *testing.T) {
	t.Parallel()
	jobs := map[workertest.Behaviour]jobserver.Behaviour{
		workertest.Decline:   {Fails: true, Type: "Declined", Message: workertest.DeclineMessage},
		workertest.Hang:      {Never: true},
		workertest.Ignore:    {Never: true, Stays: true},
		workertest.Huge:      {Result: json.RawMessage(`"` + strings.Repeat("x", workertest.HugeBytes) + `"`)},
		workertest.Flood:     {Floods: true},
		workertest.Nothing:   {},
		workertest.Invalid:   {Answer: []byte("{\"id\": \"1\", \"state\": \"succeeded\", \"result\": \"\xff\"}")},
		workertest.Garbage:   {Answer: []byte("hello, I am no result\n{\"id\": \"1\", \"state\": \"succeeded\", \"result\": true}")},
		workertest.Half:      {Answer: []byte(`{"id": "1", "state": "succeeded", "result": "ab`)},
		workertest.ActionDie: {Fails: true},
		workertest.Freeze:    {Silent: true},
	}
	server := httptest.NewServer(jobserver.New(jobserver.Config{Behave: func(s jobserver.Start) jobserver.Behaviour {
		if s.Job == string(workertest.Echo) {
			return jobserver.Behaviour{After: 20 * time.Millisecond, Result: s.Args}
		}
		return jobs[workertest.Behaviour(s.Job)]
	}}))
	t.Cleanup(server.Close)
	j, err := httpjob.New(httpjob.Config{URL: server.URL + "/jobs", Poll: 10 * time.Millisecond, VisibilityDelay: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	workertest.Run(t, workertest.Harness{
		Func: func(t *testing.T, b workertest.Behaviour) worker.Func {
			f, err := j.Func(httpjob.Job{Name: string(b)})
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Lacks: map[workertest.Behaviour]string{
			workertest.Orphan:     "the processes of a job are its server's",
			workertest.OrphanHang: "the processes of a job are its server's",
		},
		Types: map[workertest.Behaviour]string{workertest.ActionDie: httpjob.TypeJobFailed},
	})
}
