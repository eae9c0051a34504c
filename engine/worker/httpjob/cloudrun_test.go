package httpjob

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
)

func TestOverrides(t *testing.T) {
	t.Parallel()
	var got jobserver.Start
	var body []byte
	virtual(t, CloudRun, jobserver.Config{Behave: func(s jobserver.Start) jobserver.Behaviour {
		got = s
		return jobserver.Behaviour{Result: json.RawMessage("1")}
	}}, nil, func(b *bench) {
		handler := b.jobs.client.http.Transport
		b.jobs.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, ":run") {
				reader, _ := r.GetBody()
				body, _ = io.ReadAll(reader)
			}
			return handler.RoundTrip(r)
		})
		f := b.action(Job{Overrides: Overrides{
			Container: "main", Args: []string{"--image=${image}", "${size}", "$$HOME", "${pulley.key}"},
			Env: map[string]string{"LIST": "${list}"}, TaskCount: 3, Timeout: 90 * second,
		}})
		call := newCall(`{"image": "a \"b\".png", "size": {"w": 1.50}, "list": [1, "x"]}`)
		b.wants(call, f, "1")
		key := keyOf(call)
		if want := []string{`--image=a "b".png`, `{"w": 1.50}`, "$HOME", key}; !reflect.DeepEqual(got.Argv, want) {
			b.Errorf("the arguments are %q, want %q", got.Argv, want)
		}
		if want := map[string]string{
			"LIST": `[1, "x"]`, "PULLEY_ARGS": string(call.Args), "PULLEY_KEY": call.Key(), "PULLEY_JOB_KEY": key, "PULLEY_ATTEMPT": "1",
		}; !reflect.DeepEqual(got.Env, want) {
			b.Errorf("the environment is %q, want %q", got.Env, want)
		}
		for _, part := range []string{`"taskCount":3`, `"timeout":"90s"`, `"name":"main"`} {
			if !strings.Contains(string(body), part) {
				b.Errorf("the request %s has no %s", body, part)
			}
		}
		elsewhere := b.action(Job{Overrides: Overrides{ResultURL: "http://jobs.test/results/${image}/x"}})
		b.wants(newCall(`{"image": ".."}`), elsewhere, `ArgumentError: action act: argument image is "..", which leads to another place in an address`)
		b.wants(newCall(`{"image": 1}`), f, "ArgumentError: action act: argument size is missing, which the job's overrides name")
		b.wants(newCall(`{"image": "`+strings.Repeat("x", 33_000)+`"}`), f, "ArgumentError: action act: the arguments have 33013 bytes, and Cloud Run takes 32768")
		b.startedOnce(1)
	})
}

func TestResultsWithoutURL(t *testing.T) {
	t.Parallel()
	virtual(t, CloudRun, jobserver.Config{}, nil, func(b *bench) {
		f, err := b.jobs.Func(Job{Name: runJob})
		if err != nil {
			b.Fatal(err)
		}
		name := runJob + "/executions/j-00001"
		b.wants(newCall(`{}`), f, `{"cancelled":0,"execution":"`+name+`","failed":0,"log_uri":"https://logs.example.com/`+name+`","succeeded":1}`)
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	completed := func(state, reason string) string {
		return fmt.Sprintf(`"conditions": [{"type": "Ready", "state": "CONDITION_FAILED"}, {"type": "Completed", "state": "CONDITION_%s", "executionReason": "%s", "message": "M"}]`, state, reason)
	}
	for text, want := range map[string]string{
		`{}`:                                     "active",
		`{` + completed("PENDING", "") + `}`:     "active",
		`{` + completed("RECONCILING", "") + `}`: "active",
		`{` + completed("SUCCEEDED", "") + `, "succeededCount": 2}`:                                                                          "succeeded",
		`{"taskCount": 3, "failedCount": 1, "succeededCount": 2, ` + completed("FAILED", "NON_ZERO_EXIT_CODE") + `}`:                         "JobFailed: M (of 3 tasks of the execution x, 2 succeeded, 1 failed and 0 were cancelled)",
		`{` + completed("FAILED", "") + `}`:                                                                                                  "JobFailed: M (of 0 tasks",
		`{"completionTime": "2026-01-01T00:00:00Z", ` + completed("FAILED", "CANCELLED") + `}`:                                               "JobCancelled: M",
		`{` + completed("FAILED", "CANCELLING") + `}`:                                                                                        "active",
		`{"completionTime": "2026-01-01T00:00:00Z", ` + completed("FAILED", "CANCELLING") + `}`:                                              "JobCancelled: M",
		`{` + completed("FAILED", "JOB_STATUS_SERVICE_POLLING_ERROR") + `}`:                                                                  "active",
		`{` + completed("FAILED", "DELAYED_START_PENDING") + `}`:                                                                             "active",
		`{` + completed("FAILED", "DELETED") + `}`:                                                                                           "JobLost: the execution x was deleted",
		`{"deleteTime": "2026-01-01T00:00:00Z"}`:                                                                                             "JobLost: the execution x was deleted",
		`{"completionTime": "2026-01-01T00:00:00Z", "taskCount": 2, "succeededCount": 2}`:                                                    "succeeded",
		`{"completionTime": "2026-01-01T00:00:00Z", "taskCount": 2, "succeededCount": 1}`:                                                    "JobFailed: of 2 tasks",
		`{"completionTime": "2026-01-01T00:00:00Z", "taskCount": 2, "cancelledCount": 1, "conditions": [], "unknown": {"field": [1, true]}}`: "JobCancelled: of 2 tasks",
	} {
		var e execution
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		e.Name = "x"
		s := e.status()
		got := map[state]string{active: "active", succeeded: "succeeded"}[s.state]
		if s.failure != nil {
			got = s.failure.Type + ": " + s.failure.Message
		}
		if !strings.HasPrefix(got, want) || s.id != "x" {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// The operation of a start fails, or does not know its execution for some time.
func TestOperations(t *testing.T) {
	t.Parallel()
	const op = `"name": "projects/p/locations/l/operations/o"`
	for _, c := range []struct {
		want    string
		answers []func(http.ResponseWriter, *http.Request)
	}{
		{`{"cancelled":0,`, []func(http.ResponseWriter, *http.Request){
			says(200, `{}`), says(200, `{`+op+`}`), says(200, `{`+op+`, "metadata": {}}`),
			says(200, `{`+op+`, "metadata": {"name": "`+runJob+`/executions/e"}}`), says(200, `{"completionTime": "2026-01-01T00:00:00Z", "succeededCount": 1}`),
		}},
		{"JobFailed: the execution was not created: no quota (code 8)", []func(http.ResponseWriter, *http.Request){
			says(200, `{}`), says(200, `{`+op+`}`), says(200, `{`+op+`, "done": true, "error": {"code": 8, "message": "no quota"}}`),
		}},
		{"ResultError: POST http://jobs.test/v2/" + runJob + ":run: the answer is not as the API says: it names neither", []func(http.ResponseWriter, *http.Request){
			says(200, `{}`), says(200, `{}`),
		}},
		{"ResultError: GET http://jobs.test/v2/" + runJob + "/executions: the answer is not as the API says: it is no JSON of a list", []func(http.ResponseWriter, *http.Request){
			says(200, `[`),
		}},
	} {
		synctestAgainst(t, CloudRun, &scripted{answers: c.answers}, func(b *bench) {
			f, err := b.jobs.Func(Job{Name: runJob})
			if err != nil {
				b.Fatal(err)
			}
			b.wants(newCall(`{}`), f, c.want)
		})
	}
}

// Many jobs start among many others; only the newest may be listed repeatedly.
func TestListingsAreShared(t *testing.T) {
	t.Parallel()
	many := depth.Of(300, 1000)
	virtual(t, CloudRun, jobserver.Config{}, nil, func(b *bench) {
		f := b.action(Job{})
		run := func() {
			var all sync.WaitGroup
			for range many {
				all.Go(func() { b.wants(newCall(`{"a":1}`), f, `{"a":1}`) })
			}
			all.Wait()
		}
		run()
		time.Sleep(10 * time.Minute)
		before := b.server.Requests()
		run()
		b.startedOnce(2 * many)
		// Each needs its start and its result. There are also listings, bounded by the number of requests in flight.
		if n := b.server.Requests() - before; n > 4*many {
			b.Errorf("%d jobs took %d requests", many, n)
		}
	})
}

// Executions are listed long after younger ones, and answers are lost.
func TestUnevenListing(t *testing.T) {
	t.Parallel()
	virtual(t, CloudRun, jobserver.Config{
		Seed: 5, ListUneven: 9 * second, Faults: jobserver.Faults{Lost: 0.2},
	}, nil, func(b *bench) {
		f := b.action(Job{})
		jobs := depth.Of(100, 300)
		var all sync.WaitGroup
		for i := range jobs {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 12 * time.Second / time.Duration(jobs))
				b.wants(newCall(`{"a":1}`), f, `{"a":1}`)
			})
		}
		all.Wait()
		b.startedOnce(jobs)
	})
}

// Executions are so large that a page of a hundred exceeds the limit of an answer.
func TestLongPages(t *testing.T) {
	t.Parallel()
	virtual(t, CloudRun, jobserver.Config{}, func(c *Config) { c.BodyBytes = 150_000 }, func(b *bench) {
		f := b.action(Job{})
		args := `{"a":"` + strings.Repeat("x", 30_000) + `"}`
		for range 12 {
			b.wants(newCall(args), f, args)
		}
		b.startedOnce(12)
	})
}

// Two engines start an attempt at once, which a lease should prevent: the older execution counts.
func TestTwoExecutions(t *testing.T) {
	t.Parallel()
	virtual(t, CloudRun, jobserver.Config{ListLag: 5 * second, Behave: func(s jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: time.Minute, Result: s.Args}
	}}, nil, func(b *bench) {
		f := b.action(Job{})
		call := newCall(`{"a":1}`)
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(i*i) * 3 * second) // virtual: at 0, 3 and 12 seconds
				if got := ended(f(b.Context(), call)); i != 1 && got != `{"a":1}` || i == 1 && !strings.HasPrefix(got, "JobCancelled: ") {
					b.Errorf("delivery %d ends with %s", i, got)
				}
			})
		}
		all.Wait()
		if n := b.server.Starts()[keyOf(call)]; n != 2 || b.cancels() != 1 {
			b.Errorf("%d executions, %d of them cancelled; told were %q", n, b.cancels(), b.logged)
		}
	})
}
