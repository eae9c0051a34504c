package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
	"pulley/python"
)

const (
	seedFlow    = "../../python/tests/workflows/pipeline.py" // of the description of the push design, but for its import line
	exampleFlow = "../../examples/python/pipeline.py"
)

func needsPython(t *testing.T) {
	t.Helper()
	depth.Needs(t, "other processes")
	if _, err := exec.LookPath("python3"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func plain(t *testing.T, env []string, args ...string) result {
	t.Helper()
	var out, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"-m", "pulley", "run"}, args...)...)
	packages, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(append(os.Environ(), env...), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Env = append(cmd.Env, "PYTHONPATH="+packages+string(os.PathListSeparator)+pythonPath(env))
	cmd.Stdout, cmd.Stderr = &out, &stderr
	return result{code: exitStatus(t, cmd.Run()), out: out.String(), err: stderr.String()}
}

func pythonPath(env []string) string {
	for _, v := range env {
		if path, is := strings.CutPrefix(v, "PYTHONPATH="); is {
			return path
		}
	}
	return os.Getenv("PYTHONPATH")
}

func withPydantic(t *testing.T) []string {
	t.Helper()
	if exec.CommandContext(t.Context(), "python3", "-c", "import pydantic").Run() == nil {
		return nil
	}
	dir, err := filepath.Abs("testdata/python/without")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"PYTHONPATH=" + dir + string(os.PathListSeparator) + os.Getenv("PYTHONPATH")}
}

// The second input runs on memory and one design on Postgres, and at night on all.
func TestThePipelineOfTheSeedGivesWhatPythonGives(t *testing.T) {
	t.Parallel()
	needsPython(t)
	env := withPydantic(t)
	dsn := pgtest.DSN(t)
	all := depth.Of([]string{"memory", "push", "journal", "eager", "pull"}, []string{"memory", "push", "journal", "eager", "pull", "pull:scan=sql"})
	for i, input := range []string{"{}", `{"fan_out": 6, "loop_iters": 2}`} {
		want := plain(t, env, seedFlow, "--input", input, "--format", "json")
		if want.code != 0 {
			t.Fatalf("plain Python: %+v", want)
		}
		for _, backend := range depth.Of([][]string{all[:3], all[3:]}, [][]string{all, all})[i] {
			t.Run(backend+input, func(t *testing.T) {
				t.Parallel()
				args := []string{"run", seedFlow + ":DataPipelineWorkflow", "--input", input, "--backend", backend, "--format", "json", "--processes", "2"}
				if backend != "memory" {
					args = append(args, "--dsn", dsn, "--schema", pgtest.Schema(t))
				}
				binary := os.Args[0]
				if backend == "push" && i == 0 {
					binary = raceBinary()
				}
				got := runWithin(t, binary, deadline, env, args...)
				if got.code != 0 || got.out != want.out || got.err != "" {
					t.Errorf("exit status %d, output %q, errors %q; Python gives %q", got.code, got.out, got.err, want.out)
				}
			})
		}
	}
}

func runIn(t *testing.T, env []string, args ...string) result {
	t.Helper()
	return runWithin(t, os.Args[0], deadline, env, args...)
}

// The edges are those of the drawing in the push design's description.
func TestTheGraphOfThePipeline(t *testing.T) {
	t.Parallel()
	needsPython(t)
	env := withPydantic(t)
	got := runIn(t, env, "graph", seedFlow)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "graph "+seedFlow+": ", "fetch_items", "spread", "process_item", "aggregate", "loop_head", "continue → ", "break → ",
		"validate_chunk", "aggregate_chunk", "back → ", "finalize")
	text := runIn(t, env, "compile", seedFlow)
	if text.code != 0 {
		t.Fatalf("%+v", text)
	}
	if again := runIn(t, env, "compile", file(t, "p.ir", text.out)); again != text {
		t.Errorf("compiled again: %+v, not %+v", again, text)
	}
}

const small = `from pulley import Workflow, action, workflow

class Declined(Exception):
    pass

@action
def charge(amount: int) -> str:
    print("charging", amount)
    if amount > 100:
        raise Declined(f"{amount} is too much")
    return f"paid {amount}"

@action
async def forever() -> None:
    import asyncio
    print("begun", flush=True)
    await asyncio.sleep(3600)

@workflow
class Charge(Workflow):
    async def run(self, amount: int = 5, note: str = "") -> str:
        return charge(amount=amount)

@workflow
class Forever(Workflow):
    async def run(self):
        await forever()

@workflow
class Divide(Workflow):
    async def run(self, n: int) -> int:
        noted = charge(amount=1)
        if n < 0:
            raise Declined(f"{n} is below 0")
        return 10 // n
`

func TestPythonOutcomes(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "small.py", small)
	at := func(text string) string {
		before, _, _ := strings.Cut(small, text)
		return fmt.Sprintf("%s:%d:", path, strings.Count(before, "\n")+1)
	}
	for _, c := range []struct{ target, input, position string }{
		{":Charge", `{}`, ""},
		{":Charge", `{"amount": 7, "note": "x"}`, ""},
		{":Charge", `{"amount": 700}`, at("return charge(amount=amount)")},
		{":Divide", `{"n": 5}`, ""},
		{":Divide", `{"n": 0}`, at("return 10 // n")},
		{":Divide", `{"n": -1}`, at(`raise Declined(f"{n}`)},
	} {
		t.Run(c.target+c.input, func(t *testing.T) {
			t.Parallel()
			want := plain(t, nil, path+c.target, "--input", c.input, "--format", "json")
			got := call(t, nil, "run", path+c.target, "--input", c.input, "--format", "json", "--backend", "memory", "--processes", "1")
			var w, g stored.Outcome
			if json.Unmarshal([]byte(want.out), &w) != nil || json.Unmarshal([]byte(got.out), &g) != nil {
				t.Fatalf("%+v and %+v", want, got)
			}
			if (g.Error != nil) != (c.position != "") || g.Error != nil && !strings.HasPrefix(g.Error.Position, c.position) {
				t.Errorf("position %+v, want %s", g.Error, c.position)
			}
			if g.Error != nil && w.Error != nil {
				g.Error.Position, g.Error.Action = "", ""
			}
			left, right := mustJSON(t, w), mustJSON(t, g)
			if got.code != want.code || left != right {
				t.Errorf("Python: %d %s; pulley: %d %s; %s", want.code, left, got.code, right, got.err)
			}
			if !strings.Contains(got.err, "charging") {
				t.Errorf("what the action prints is not in %q", got.err)
			}
		})
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPythonMistakes(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "small.py", small)
	for _, c := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"no such file", []string{"nowhere.py"}, []string{"nowhere.py: there is no such file"}},
		{"several workflows", []string{path}, []string{path + ": there are 3 workflows; write " + path + ":Charge, " + path + ":Divide or " + path + ":Forever"}},
		{"no such workflow", []string{path + ":Chrage"}, []string{path + ": there is no workflow Chrage"}},
		{"no workflow", []string{file(t, "none.py", "x = 1\n")}, []string{"none.py: there is no workflow; write @workflow"}},
		{"a syntax error", []string{file(t, "wrong.py", "x = 1\ndef f(:\n")}, []string{"wrong.py:2"}},
		{"an error at import", []string{file(t, "raises.py", small+"\nraise ValueError('no')\n") + ":Charge"}, []string{fmt.Sprintf("raises.py:%d: ValueError: no", strings.Count(small, "\n")+2)}},
		{"a wrong type", []string{path + ":Charge", "--input", `{"amount": "5"}`}, []string{`pulley: --input: Charge.run: argument amount: expected int, got "5"`}},
		{"an unknown argument", []string{path + ":Charge", "--input", `{"amuont": 5}`}, []string{"--input: Charge.run: there is no argument amuont; did you mean amount?"}},
		{"a missing argument", []string{path + ":Divide"}, []string{"--input: Divide.run: argument n is missing"}},
		{"no object", []string{path + ":Divide", "--input", "[1]"}, []string{"--input: a JSON object is wanted"}},
		{"no JSON", []string{path + ":Divide", "--input", "{"}, []string{"--input: "}},
		{"processes", []string{path + ":Divide", "--processes", "5000"}, []string{"--processes 5000: choose from 1 to 1000"}},
		{"processes of a program", []string{pipeline, "--processes", "2"}, []string{"--processes is for the actions of a FILE.py"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, append([]string{"run"}, c.args...)...)
			if got.code != console.ExitUsage || got.out != "" {
				t.Errorf("exit status %d, output %q", got.code, got.out)
			}
			wantLine(t, got.err, c.parts...)
		})
	}
}

func TestASignalEndsPython(t *testing.T) {
	t.Parallel()
	needsPython(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			path := file(t, "small.py", small)
			cmd := command(t, "run", path+":Forever", "--backend", "memory", "--format", "json", "--processes", "1")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			awaitLine(t, stderr, "begun")
			if len(processesOf(t, filepath.Dir(path))) < 2 {
				t.Error("no worker is seen: this test sees nothing")
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is that of the signal
			awaitNone(t, filepath.Dir(path))
		})
	}
}

// awaitLine reads byte by byte, so that the text after the line can still be read.
func awaitLine(t *testing.T, from io.Reader, part string) string {
	t.Helper()
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := from.Read(b); err != nil {
			t.Fatalf("the command ended without saying %q: %v", part, err)
		}
		switch line = append(line, b[0]); {
		case b[0] == '\n' && strings.Contains(string(line), part):
			return string(line)
		case b[0] == '\n':
			line = nil
		}
	}
}

func awaitNone(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var left []string
	for range pause.Tries(ctx, 20*time.Millisecond) {
		if left = processesOf(t, dir); len(left) == 0 {
			return
		}
	}
	t.Errorf("processes are left: %q", left)
}

// TestTheExampleRuns forecasts what docs/getting-started.md runs.
func TestTheExampleRuns(t *testing.T) {
	t.Parallel()
	needsPython(t)
	sim := call(t, nil, "forecast", exampleFlow, "--workers", "4", "--service", "const:10ms", "--runs", "1", "--out", t.TempDir())
	if sim.code != 0 || !strings.Contains(sim.out, exampleFlow) {
		t.Errorf("%+v", sim)
	}
}

const steps = `import os
from typing import List

from pulley import Workflow, action, workflow

@action
def step(i: int) -> int:
    print("step", i, os.getpid(), flush=True)
    return i * i

@workflow
class Steps(Workflow):
    async def run(self, n: int = 12) -> List[int]:
        done = []
        for i in range(n):
            done.append(step(i=i))
        return done
`

func TestAWorkflowInPythonSurvivesKills(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "steps.py", steps)
	want := plain(t, nil, path, "--format", "json")
	dsn := pgtest.DSN(t)
	for _, backend := range depth.Of([]string{"push"}, []string{"push", "journal", "eager", "pull", "pull:scan=sql"}) {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			args := []string{"run", path, "--format", "json", "--backend", backend, "--dsn", dsn, "--schema", pgtest.Schema(t), "--id", uuid.NewString(), "--processes", "1"}
			engine := raceCommand(t, args...)
			stderr, err := engine.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(); err != nil {
				t.Fatal(err)
			}
			killWorker(t, stderr, "step 3 ")
			awaitLine(t, stderr, "step 5 ") // of the next worker
			if err := engine.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = engine.Wait() // it was killed
			got := runIn(t, nil, args...)
			if got.code != 0 || got.out != want.out || strings.Contains(got.err, "step 2 ") {
				t.Errorf("exit status %d, output %q, errors %q; Python gives %q", got.code, got.out, got.err, want.out)
			}
		})
	}
}

// killWorker awaits a line with part in it, which ends with a worker's process id, and kills that worker.
func killWorker(t *testing.T, from io.Reader, part string) {
	t.Helper()
	line := awaitLine(t, from, part)
	fields := strings.Fields(line)
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		t.Fatalf("no number of a process in %q: %v", line, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestTheWorkerOfPythonKeepsTheProtocol(t *testing.T) {
	t.Parallel()
	needsPython(t)
	i, err := python.Open()
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, "small.py", small)
	args := append([]string{"worker", "check", "--timeout", "1m", "--hello-timeout", "5m", "--run", `charge {"amount": 1}`, "--slow", "forever {}"}, i.Worker(path, 4)...)
	got := call(t, nil, args...)
	if got.code != 0 || !strings.Contains(got.out, "0 findings") {
		t.Errorf("%+v", got)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
}

func TestWorkflowsWithoutActions(t *testing.T) {
	t.Parallel()
	needsPython(t)
	flow := file(t, "count.py", `from pulley import Workflow, workflow


@workflow
class Count(Workflow):
    async def run(self, n: int = 3) -> int:
        total = 0
        for i in range(n):
            total += i
        if total > 10:
            raise ValueError(f"{total} is too much")
        return total
`)
	if got := call(t, nil, "run", flow, "--backend", "memory"); got.code != 0 || got.out != "completed: 3\n" || got.err != "" {
		t.Errorf("exit status %d, %q, %q", got.code, got.out, got.err)
	}
	if got := call(t, nil, "run", flow, "--backend", "memory", "--input", `{"n": 9}`); got.code != console.ExitFailed || !strings.HasPrefix(got.out, "failed: ValueError: 36 is too much") {
		t.Errorf("exit status %d, %q, %q", got.code, got.out, got.err)
	}
}
