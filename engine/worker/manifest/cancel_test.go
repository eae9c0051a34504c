package manifest

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const cancelDeadline = 10 * time.Minute

// An engine runs three endless attempts: by a program, by a long-lived worker, and as a job. Another engine on the same
// database cancels the instance. The first one finds out when it next renews its leases. It must then kill the program, notify
// the worker, and cancel the job at its server.
func TestCancelledByAnotherEngine(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	ctx, cancel := depth.Within(context.WithoutCancel(t.Context()), t, cancelDeadline)
	t.Cleanup(cancel)
	server := jobserver.New(jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} }})
	hs := httptest.NewServer(server)
	t.Cleanup(hs.Close)
	file := write(t, "actions.yaml", `
actions:
  program: {process: [sh, -c, 'echo $$ > pid.new; mv pid.new pid; sleep 1000'], grace: 0s}
  words.nap: {worker: words}
  remote: {job: own}
workers:
  words: {command: [python3, `+examples(t)+`/words.py], grace: 5m}
jobs:
  own: {url: `+hs.URL+`/jobs, poll: 20ms}
`)
	m, err := Open(file, Options{Context: ctx})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	dsn, schema := pgtest.SharedSchema(t, "push")
	const lease = time.Minute
	var ahead atomic.Int64
	one := startEngine(ctx, t, m, dsn, schema, engine.Config{
		Lease: lease, Poll: 20 * time.Millisecond, Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
	})
	id := submit(ctx, t, one, "    x = parallel:\n        @program()\n        @words.nap(seconds=1000)\n        @remote()\n")
	pidFile := filepath.Join(filepath.Dir(file), "pid")
	await(ctx, t, "all three are at work", func() bool {
		_, err := os.Stat(pidFile)
		return err == nil && m.pools[0].AtWork() == 1 && server.Active() == 1
	})
	pid := readPid(t, pidFile)

	two := startEngine(ctx, t, m, dsn, schema, engine.Config{Slots: 1})
	inst, err := two.Cancel(ctx, id, "no longer wanted")
	if err != nil || inst.Status != backend.Canceled {
		t.Fatalf("the instance is %s, %v", inst.Status, err)
	}
	ahead.Store(int64(lease/3 + time.Second)) // when leases are renewed
	await(ctx, t, "the program was killed", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	await(ctx, t, "the worker has ended the attempt", func() bool { return m.pools[0].AtWork() == 0 })
	await(ctx, t, "the job was cancelled", func() bool { return server.Active() == 0 })
	if n := len(server.Cancels()); n != 1 {
		t.Errorf("%d jobs were cancelled, want 1", n)
	}
}

func startEngine(ctx context.Context, t *testing.T, m *Manifest, dsn, schema string, c engine.Config) *engine.Engine {
	t.Helper()
	spec, err := designs.Parse("push")
	if err != nil {
		t.Fatal(err)
	}
	store, err := spec.Open(ctx, designs.OpenOptions{DSN: dsn, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	actions, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(actions); err != nil {
		t.Fatal(err)
	}
	c.Backend, c.Workers = store, actions
	e, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := e.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return e
}

func submit(ctx context.Context, t *testing.T, e *engine.Engine, body string) uuid.UUID {
	t.Helper()
	program, err := plan.CompileText("test.ir", []byte("fn main(input: [], output: []):\n"+body), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: program, Input: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func await(ctx context.Context, t *testing.T, what string, is func() bool) {
	t.Helper()
	for range pause.Tries(ctx, 5*time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("it is not so that %s", what)
}

func readPid(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
