package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pgtest"
)

const thumbnails = `
fn main(input: [names], output: [made]):
    made = spread names:name -> @thumbs.make(name=name)
    try:
        @thumbs.check(made=made)
    except TooFew as e:
        made = made + [e["message"]]
    made = made + [@echo(value=1)]
    return made
`

const thumbnailActions = `
actions:
  thumbs.make:
    process: [./make.sh]
    args: [name]
  thumbs.check: {process: [sh, -c, 'echo "I count" >&2; echo "{\"type\": \"TooFew\", \"message\": \"only three\"}" >&2; exit 7']}
  echo: {process: [echo, "\"mine\""]}
`

func TestActionsOfOnesOwn(t *testing.T) {
	t.Parallel()
	actions := file(t, "actions.yaml", thumbnailActions)
	script := filepath.Join(filepath.Dir(actions), "make.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread -r args\necho \"small $args\" >&2\necho \"$args\" | sed 's/.*:\\(.*\\)}/\\1/'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	prog := file(t, "thumbs.ir", strings.Replace(thumbnails, "made = made + [@echo(value=1)]", "last = @echo(value=1)\n    made = made + [last]", 1))
	const input = `{"names": ["a", "b", "c"]}`
	got := runForRaces(t, "run", prog, "--actions", actions, "--backend", "memory", "--input", input)
	if got.code != 0 || got.out != `completed: ["a","b","c","only three","mine"]`+"\n" || got.err != "" {
		t.Errorf("exit status %d, %q, %q", got.code, got.out, got.err)
	}
	got = call(t, nil, "run", prog, "--actions", actions, "--backend", "memory", "--input", input, "-v")
	wantParts(t, got.err, `@thumbs.make: small {"name":"b"}`, "@thumbs.check: I count")
}

func TestActionsFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = @mine(a=1)\n")
	good, same := file(t, "good.yaml", "actions: {mine: {process: [echo, '1']}}"), file(t, "same.yaml", "actions: {mine: {process: [echo, '2']}}")
	bad, worse := file(t, "bad.yaml", "actions:\n  mine: {pocess: [echo]}\n"), file(t, "worse.yaml", "actions:\n  other: {process: [nosuchprogram]}\n")
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"none":           {nil, prog + ":2:9: unknown action @mine; register it, or write one of those that are\npulley: the actions are @"},
		"missing":        {[]string{"none.yaml"}, "pulley: actions file none.yaml: no such file or directory\n"},
		"mistakes":       {[]string{bad, worse}, bad + ":2:3: action mine does not say what runs it; write process: [program, argument, …]"},
		"in both":        {[]string{good, same}, "pulley: " + same + ": action mine is in another file of --actions, too; take one out\n"},
		"another's name": {[]string{file(t, "x.yaml", "actions: {mina: {process: [echo]}}")}, prog + ":2:9: unknown action @mine; did you mean @mina?\n"},
	} {
		args := []string{"run", prog, "--backend", "memory"}
		for _, f := range c.files {
			args = append(args, "--actions", f)
		}
		if got := call(t, nil, args...); got.code != console.ExitUsage || got.out != "" || !strings.HasPrefix(got.err, c.want) {
			t.Errorf("%s: exit status %d, %q, got\n%s\nwant\n%s", name, got.code, got.out, got.err, c.want)
		} else if name == "mistakes" {
			wantParts(t, got.err, bad+":2:10: action mine has no key \"pocess\"; did you mean process?\n"+worse+":2:20: there is no program nosuchprogram; check the name, and PATH\n")
		}
	}
}

func submitted(t *testing.T, design, dsn, schema, text string, inputs ...string) (backend.Backend, []uuid.UUID) {
	t.Helper()
	spec, err := designs.Parse(design)
	if err != nil {
		t.Fatal(err)
	}
	store, err := spec.Open(t.Context(), designs.OpenOptions{DSN: dsn, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	p, err := plan.CompileText("own.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var subs []backend.Submission
	var ids []uuid.UUID
	for _, input := range inputs {
		ids = append(ids, uuid.New())
		subs = append(subs, backend.Submission{ID: ids[len(ids)-1], Program: p, Input: json.RawMessage(input)})
	}
	if _, err := store.Submit(t.Context(), subs, backend.Grant{Owner: "test", Lease: time.Second}); err != nil {
		t.Fatal(err)
	}
	return store, ids
}

func TestWork(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	actions := file(t, "actions.yaml", "actions: {twice: {process: [perl, -ne, 'm/(\\d+)/; print $1 * 2']}, no: {process: ['false']}}")
	const text = "fn main(input: [n], output: [m]):\n    m = @twice(n=n)\n    if n == 3:\n        @no()\n    m = @twice(n=m)\n"
	for _, design := range []string{"push", "journal", "eager", "pull", "pull:scan=sql"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			schema := pgtest.Schema(t)
			store, ids := submitted(t, design, dsn, schema, text, `{"n": 1}`, `{"n": 2}`, `{"n": 3}`)
			if design == "journal" {
				store.Close() // its shards have owners
			}
			got := runForRaces(t, "work", "--actions", actions, "--backend", design, "--dsn", dsn, "--schema", schema, "--idle-exit", "10s")
			if got.code != 0 || got.out != "" {
				t.Errorf("exit status %d, %q, %q", got.code, got.out, got.err)
			}
			wantParts(t, got.err, "pulley: working on schema "+schema, "pulley: 6 attempts done, 1 of them failed; 3 instances ended")
			if design == "journal" {
				store, _ = submitted(t, design, dsn, schema, text)
			}
			found, err := store.Lookup(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			if string(found[0].Result) != "4" || string(found[1].Result) != "8" || found[2].Failure == nil || found[2].Failure.Type != "ExitStatus" {
				t.Errorf("found %+v", found)
			}
		})
	}
}

type waiting struct {
	worker.Executor
	begun, proceed chan struct{}
}

func (w *waiting) Execute(context.Context, backend.Task) (json.RawMessage, *plan.Failure) {
	close(w.begun)
	<-w.proceed
	return nil, worker.DeathOf(&worker.DiedError{})
}

// TestIdleWork expects work to be busy while an action runs, also after the failure of an attempt that never ran. Work is idle
// once the worker of the only action has died, which the observer does not see.
func TestIdleWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkWatch(func(string, ...any) {})
		w.observer().Offered(backend.Completion{Failure: &plan.Failure{Type: "WorkerDied"}}, time.Now())
		action := &waiting{begun: make(chan struct{}), proceed: make(chan struct{})}
		go w.around(action).Execute(t.Context(), backend.Task{})
		<-action.begun
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		always := func() bool { return true }
		if w.awaitEnd(ctx, time.Minute, always) {
			t.Error("work is idle while an action is at work")
		}
		close(action.proceed)
		synctest.Wait()
		if !w.awaitEnd(t.Context(), time.Minute, always) {
			t.Error("work is not idle once nothing is at work")
		}
		looked := time.Now().Add(5 * time.Minute)
		if !w.awaitEnd(t.Context(), time.Minute, func() bool { return time.Now().After(looked) }) || time.Since(looked) < time.Minute {
			t.Error("work is idle before the engine has found nothing for a minute")
		}
		if got := w.sum(); got != "1 attempt done, 1 of them failed; 0 instances ended" {
			t.Errorf("it sums up %q", got)
		}
	})
}

func TestInterruptedWork(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	mark := filepath.Join(t.TempDir(), "pid")
	actions := file(t, "actions.yaml", "actions: {wait: {process: [sh, -c, 'sleep 3600 & echo $! >"+mark+".new; mv "+mark+".new "+mark+"; wait'], grace: 0s}}")
	store, ids := submitted(t, "push", dsn, schema, "fn main(input: [], output: []):\n    @wait()\n", `{}`)
	cmd := raceCommand(t, "work", "--actions", actions, "--dsn", dsn, "--schema", schema, "--drain", "0s")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var pid []byte
	for len(pid) == 0 && ctx.Err() == nil {
		<-tick.C
		pid, _ = os.ReadFile(mark)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 130 || !strings.HasSuffix(stderr.String(), "pulley: interrupted\n") {
		t.Errorf("exit status %d, %q", code, stderr.String())
	}
	sleeper, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil {
		t.Fatal(err)
	}
	for isAtWork(sleeper) {
		if <-tick.C; ctx.Err() != nil {
			t.Fatalf("process %d, which the action has started, continues", sleeper)
		}
	}
	found, err := store.Lookup(t.Context(), ids)
	if err != nil || found[0].Status != backend.Running {
		t.Errorf("found %+v, %v", found, err)
	}
}

// A process that ended and was not reaped yet is not at work.
func isAtWork(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil // without /proc
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestWorkRefuses(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"backend memory keeps nothing that others could submit": {"--backend", "memory"},
		`no backend "psuh", did you mean "push"?`:               {"--backend", "psuh"},
		"--workers 0: choose from 1 to 100000":                  {"--workers", "0"},
		"--idle-exit -1s: choose a time":                        {"--idle-exit=-1s"},
		"--drain 25h0m0s: choose a time up to 24h":              {"--drain", "25h"},
		"--retention 1s: choose 1m or more, such as 30d":        {"--retention", "1s"},
		"\"1 week\" is no time; write it as 30d or 720h":        {"--retention", "1 week"},
		"actions file none.yaml":                                {"--actions", "none.yaml"},
		"Postgres would cut the name short":                     {"--schema", strings.Repeat("x", 64)},
	} {
		if got := call(t, nil, append([]string{"work"}, args...)...); got.code != console.ExitUsage || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%q: exit status %d, %q; want %q", args, got.code, got.err, want)
		}
	}
}
