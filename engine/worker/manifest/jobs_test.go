package manifest

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	var begun atomic.Int64
	server := jobserver.New(jobserver.Config{Tokens: []string{"t0", "t1"}, Behave: func(s jobserver.Start) jobserver.Behaviour {
		switch {
		case s.Job == "fails":
			return jobserver.Behaviour{Fails: true, Type: "Declined", Message: "no"}
		case s.Job == "never":
			begun.Add(1)
			return jobserver.Behaviour{Never: true}
		case len(s.Argv) > 0:
			text, err := json.Marshal(map[string]any{"argv": s.Argv, "size": s.Env["SIZE"], "job": s.Job})
			if err != nil {
				t.Error(err)
			}
			return jobserver.Behaviour{After: 10 * time.Millisecond, Result: text}
		}
		return jobserver.Behaviour{After: 10 * time.Millisecond, Result: s.Args}
	}})
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	file := write(t, "actions.yaml", `
actions:
  echo: {job: own, args: [value], doc: gives it back}
  payments.charge: {job: own, runs: fails}
  never: {job: own, limit: 2s, at_once: 3}
  render:
    job: cloud
    runs: projects/p/locations/l/jobs/j
    overrides:
      args: ["--image=${image}", 7]
      env: {SIZE: "${size}"}
      tasks: 3
      timeout: 10m
      container: main
      result: `+hs.URL+`/results/${pulley.key}
  counts: {job: cloud, runs: projects/p/locations/l/jobs/k}
jobs:
  x-shared: &shared {poll: 10ms, request_timeout: 1m, patience: 1m, settle: 100ms, look_back: 24h, requests: 8}
  own: {<<: *shared, url: `+hs.URL+`/jobs, token: {command: [./token.sh]}}
  cloud: {<<: *shared, url: `+hs.URL+`, dialect: cloudrun, token: {command: [echo, t0]}}
`, "token.sh", "#!/bin/sh\necho t1\n")
	var mu sync.Mutex
	var logged []string
	m, err := Open(file, Options{Log: func(action, line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, action+": "+line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(reg); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ action, args, want string }{
		{"echo", `{"value":"ü"}`, `{"value":"ü"}`},
		{"echo", `{"valu":"ü"}`, "ArgumentError: action echo: unknown argument valu; it takes value"},
		{"payments.charge", `{}`, "Declined: no"},
		{"never", `{}`, "Timeout: the job took longer than its limit of 2s"},
		{"render", `{"image":"a.png","size":[1,2]}`, `{"argv":["--image=a.png","7"],"job":"projects/p/locations/l/jobs/j","size":"[1,2]"}`},
		{"render", `{"image":"a.png"}`, "ArgumentError: action render: argument size is missing, which the job's overrides name"},
		{"counts", `{}`, `{"cancelled":0,"execution":"projects/p/locations/l/jobs/k/executions/k-00005","failed":0,"log_uri":"https://logs.example.com/projects/p/locations/l/jobs/k/executions/k-00005","succeeded":1}`},
	} {
		task := backend.Task{Action: c.action, Args: json.RawMessage(c.args), Attempt: 1}
		task.Lease.Key.Instance = uuid.New()
		result, failure := reg.Execute(t.Context(), task)
		got := string(result)
		if failure != nil {
			got = failure.Type + ": " + failure.Message
		}
		if got != c.want {
			t.Errorf("@%s(%s) gives %s, want %s", c.action, c.args, got, c.want)
		}
	}
	closing, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.Close(closing); err != nil {
		t.Error(err)
	}
	if n := len(server.Cancels()); int64(n) != begun.Load() { // none has begun if the limit is reached before
		t.Errorf("%d jobs were cancelled, want the %d that never end; told were %q", n, begun.Load(), logged)
	}
}

func TestMistakesOfJobs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"actions:\n  a: {job: own, rns: x}\n  b: {job: on}\n  c: {job: own, process: [sh]}\n  d: {job: own, overrides: {args: x, timeout: 1500ms, tasks: 0, env: {PULLEY_X: 1}}}\njobs:\n  own: {url: http://j/jobs, token: {env: NO_SUCH_VARIABLE, command: [sh]}}\n  a.b: {dialect: soap, poll: 0s}\n  e: {requests: 0, token: {}}\n  f: {url: http://j, token: {metadata: x}}\n": `
2:17: action a of a server of jobs has no key "rns"; did you mean runs?
3:12: there is no server of jobs on; did you mean own?
4:12: action c has both process and job; write one of them
5:47: timeout is 1.5s; Cloud Run takes whole seconds
5:62: tasks is 0; choose from 1 to 2147483647
5:71: the variable PULLEY_X is pulley's to set; choose a name that does not begin with PULLEY_
7:36: token has 2 keys; write one of env, command and metadata
7:42: the variable NO_SUCH_VARIABLE is not set, or empty; set it to the token
8:3: "a.b" is not the name of a server of jobs: write letters, digits and _
8:3: server of jobs a.b has no address; write url: https://…
8:18: there is no dialect "soap"; choose plain or cloudrun
8:30: poll is zero; choose more
9:3: server of jobs e has no address; write url: https://…
9:17: requests is 0; choose from 1 to 10000
9:27: token has 0 keys; write one of env, command and metadata
10:40: metadata is google, or the address of a server that gives tokens, not "x"`,
		"actions:\n  a: {job: cloud}\n  b: {job: own, overrides: {tasks: 2}}\n  c: {job: cloud, runs: projects/p/locations/l/jobs/j, overrides: {args: [$x]}}\njobs:\n  cloud: {dialect: cloudrun}\n  own: {url: \"http://me:secret@j/\", settle: 3h}\n  third: {url: http://j/}\n": `
2:12: "" is not the name of a Cloud Run job; write projects/PROJECT/locations/REGION/jobs/JOB
4:12: in "$x", a dollar sign stands by itself; write $$, or ${name} for an argument
7:3: the URL has a user in it; leave it out, and give a token instead
7:3: Settle is 3h0m0s, must be from 1ms to 1h0m0s`,
		"actions:\n  b: {job: own, overrides: {tasks: 2}}\njobs:\n  own: {url: http://j/}\n": `
2:12: overrides are for the dialect cloudrun; a job of the dialect plain gets the arguments as they are`,
		"jobs: 7": "\n1:1: the file has no actions; write some below the key actions\n1:7: jobs are a map of names and what they stand for, not a whole number",
	} {
		file := write(t, "actions.yaml", text)
		m, err := Open(file, Options{})
		if err == nil {
			t.Errorf("%q is taken", text)
			_ = m.Close(t.Context())
			continue
		}
		if got := "\n" + strings.ReplaceAll(err.Error(), file+":", ""); got != want {
			t.Errorf("%q:\ngot %s\nwant %s", text, got, want)
		}
	}
}
