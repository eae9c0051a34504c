package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/internal/pgtest"
)

func TestRunKnowsWhatAnIDWasMadeOf(t *testing.T) {
	t.Parallel()
	one := file(t, "one.ir", "fn main(input: [n], output: [x]):\n    x = n + 1\n")
	two := file(t, "two.ir", "fn main(input: [n], output: [x]):\n    x = n + 2\n")
	for _, backend := range []string{"push", "journal", "eager", "pull", "pull:scan=sql"} {
		id := uuid.NewString()
		where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, backend), "--backend", backend}
		run := func(program, input string) result {
			return call(t, nil, append([]string{"run", program, "--input", input, "--id", id}, where...)...)
		}
		if got := call(t, nil, append([]string{"wait", id}, where...)...); got.code != console.ExitUsage || !strings.Contains(got.err, "there is no instance "+id) {
			t.Errorf("%s: of no instance: %+v", backend, got)
		}
		if got := run(one, `{"n": 1}`); got.code != 0 || got.out != "completed: 2\n" {
			t.Errorf("%s: %+v", backend, got)
		}
		if got := run(one, `{ "n" : 1 }`); got.code != 0 || got.out != "completed: 2\n" {
			t.Errorf("%s: the same again: %+v", backend, got)
		}
		if got := run(two, `{"n": 1}`); got.code != console.ExitUsage || got.out != "" || !strings.Contains(got.err, "was made of another program") || !strings.Contains(got.err, "pulley wait "+id) {
			t.Errorf("%s: another program: %+v", backend, got)
		}
		if got := run(one, `{"n": 2}`); got.code != console.ExitUsage || got.out != "" || !strings.Contains(got.err, "has another input") {
			t.Errorf("%s: another input: %+v", backend, got)
		}
		if got := call(t, nil, append([]string{"wait", id}, where...)...); got.code != 0 || got.out != "completed: 2\n" {
			t.Errorf("%s: wait: %+v", backend, got)
		}
	}
}

func TestWaitRefusals(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`id "seven": this is not a UUID`:          {"seven"},
		"say which database holds the instance":   {uuid.NewString()},
		"--timeout 0s: choose a positive time":    {uuid.NewString(), "--timeout", "0s"},
		"backend memory keeps nothing for":        {uuid.NewString(), "--backend", "memory"},
		"no schema":                               nil,
		`no backend "pusch", did you mean "push"`: {uuid.NewString(), "--backend", "pusch"},
	} {
		if args == nil {
			want, args = "there is no instance", []string{uuid.NewString(), "--dsn", pgtest.DSN(t), "--schema", "nobody_was_here"}
		}
		got := call(t, nil, append([]string{"wait"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, want)
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	s := start(t, nil, append([]string{file(t, "nap.ir", "fn main(input: [], output: []):\n    sleep 3600\n"), "--id", id}, where...)...)
	if got := call(t, nil, append([]string{"wait", id, "--timeout", "300ms"}, where...)...); got.code != console.ExitUsage || !strings.Contains(got.err, "did not end within 300ms") {
		t.Errorf("%+v", got)
	}
	if got := call(t, nil, append([]string{"cancel", id}, where...)...); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := call(t, nil, append([]string{"wait", id}, where...)...); got.code != console.ExitFailed || got.out != "canceled: canceled by hand\n" {
		t.Errorf("%+v", got)
	}
	if code, _ := s.wait(t); code != console.ExitFailed {
		t.Errorf("pulley run: exit status %d", code)
	}
}

func TestVerboseTellsRetries(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = @flaky(times=2) [retry: 3, backoff: 1ms]\n")
	got := call(t, nil, "run", prog, "--backend", "memory", "-v")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.err, "attempt 1 failed: ", "@flaky is tried again: attempt 2", "attempt 2 failed: ", "@flaky is tried again: attempt 3")
	if quiet := call(t, nil, "run", prog, "--backend", "memory"); quiet.err != "" {
		t.Errorf("without -v: %q", quiet.err)
	}
}

func TestAllMistakesAreReported(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    a = 1 +\n    b := 2\n    x = a ++ b\n")
	got := call(t, nil, "run", prog, "--backend", "memory")
	if got.code != console.ExitUsage || strings.Count(got.err, "\n") != 3 {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.err, "p.ir:2:", "p.ir:3:", "p.ir:4:")
	prog = file(t, "p.ir", "fn main(input: [], output: [x]):\n    a = @sum(valeus=[1])\n    b = @noop(what=1)\n    x = @sumn(values=[1])\n")
	got = call(t, nil, "run", prog, "--backend", "memory")
	if got.code != console.ExitUsage || got.out != "" {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.err, "p.ir:2:9: @sum takes no valeus; it takes values", "p.ir:2:9: @sum lacks values", "p.ir:4:9: unknown action @sumn; did you mean @sum?")
}

func TestDuplicateKeysOfAnInput(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [n], output: [x]):\n    x = n\n")
	got := call(t, nil, "run", prog, "--backend", "memory", "--input", `{"n": 1, "n": 2}`)
	if got.code != console.ExitUsage || got.out != "" {
		t.Errorf("%+v", got)
	}
	wantLine(t, got.err, `--input: the key "n" is there twice; write it once`)
	nested := file(t, "in.json", `{"n": [{"a": 1, "a": 1}]}`)
	got = call(t, nil, "run", prog, "--backend", "memory", "--input", "@"+nested)
	if got.code != console.ExitUsage {
		t.Errorf("%+v", got)
	}
	wantLine(t, got.err, filepath.Base(nested)+`: the key "a" is there twice`)
}
