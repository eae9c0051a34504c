package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// TestThePipelineOfTheSeedSurvivesChaos kills engines and Python workers at random, at night for a minute on each design. Each
// instance must end as in plain Python, which pulley chaos runs itself and reports.
func TestThePipelineOfTheSeedSurvivesChaos(t *testing.T) {
	t.Parallel()
	needsPython(t)
	env := withPydantic(t)
	want := plain(t, env, seedFlow, "--format", "json")
	var ended struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(want.out), &ended); err != nil || want.code != 0 {
		t.Fatalf("plain Python: %+v, %v", want, err)
	}
	for _, design := range depth.Of([]string{"push"}, []string{"push", "journal", "eager", "pull", "pull:scan=sql"}) {
		t.Run(design, func(t *testing.T) {
			dir := t.TempDir()
			got := runWithin(t, os.Args[0], depth.Of(deadline, 3*deadline), env, "chaos", seedFlow+":DataPipelineWorkflow", "--backend", design, "--faults", "process.kill,worker.kill",
				"--duration", depth.Of("0s", "1m"), "--lease", "1s", "--in-flight", "2", "--cancel", "0", "--shrink", "0", "--format", "json", "--out", dir)
			var res struct {
				Verdict   string
				Why       []string
				Faults    map[string]int
				Judged    map[string]int
				Instances int
			}
			if err := json.Unmarshal([]byte(got.out), &res); err != nil {
				t.Fatalf("%v: %q: %s", err, got.out, got.err)
			}
			if got.code != 0 || res.Verdict != "pass" {
				t.Errorf("exit status %d, %s: %v: %s\n%s", got.code, res.Verdict, res.Why, got.out, got.err)
			}
			if res.Faults["process.kill"] == 0 || res.Faults["worker.kill"] == 0 || res.Judged["I4"] < res.Instances/2 || res.Judged["I7"] < res.Instances {
				t.Errorf("%d instances, %v happened, %v was judged", res.Instances, res.Faults, res.Judged)
			}
			wantParts(t, got.err, "plain Python gives "+string(ended.Result)+"; so do two runs of the reference interpreter")
			depth.Done(t, "instances=%d kills=%d workers=%d", res.Instances, res.Faults["process.kill"], res.Faults["worker.kill"])
		})
	}
}

const unsteady = `import os
import time

from pulley import Workflow, action, workflow


@action
def now() -> int:
    return time.time_ns()


@action
def one() -> int:
    return 1


@workflow
class Unsteady(Workflow):
    async def run(self) -> int:
        return now() + one()


@workflow
class Late(Workflow):
    async def run(self) -> int:
        return late()


@action(timeout="1s")
def late() -> int:
    return 1


@workflow
class Fails(Workflow):
    async def run(self, n: int = 1) -> int:
        done = one()
        return fail_with(text=f"no {n}")


@action
def fail_with(text: str) -> int:
    raise LookupError(text)


@workflow
class Elsewhere(Workflow):
    async def run(self) -> int:
        return process()


@action
def process() -> int:
    return int(os.environ.get("PULLEY_PROCESS", "") == "")
`

func TestChaosSaysWhatItCannotCompare(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "unsteady.py", unsteady)
	got := run(t, "chaos", path+":Unsteady", "--faults", "worker.kill", "--duration", "0s", "--in-flight", "2", "--cancel", "0", "--shrink", "0", "--out", t.TempDir())
	if got.code != console.ExitInconclusive {
		t.Errorf("exit status %d: %s %s", got.code, got.out, got.err)
	}
	wantParts(t, got.out, "inconclusive: push", "asked twice, @now gave different values; how its instances end, and what its actions receive, was compared with nothing")
	if strings.Contains(got.out, "I7:") || strings.Contains(got.out, "I4:") {
		t.Errorf("values are compared with nothing, and violate something: %s", got.out)
	}
}

func TestChaosOnPythonRefuses(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "unsteady.py", unsteady)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"Late: @late has a timeout of 1s, which may pass while processes stand still", []string{path + ":Late"}},
		{"there are 4 workflows; write ", []string{path}},
		{"--input: Fails.run: there is no argument m", []string{path + ":Fails", "--input", `{"m": 1}`}},
		{"--input is for a program", []string{"fanout", "--input", `{"m": 1}`}},
		{"--set is for a scenario's parameters", []string{path + ":Fails", "--set", "rounds=1"}},
		{"plain Python gives 1, and the workflow that it is translated to completed with 0", []string{path + ":Elsewhere"}},
		{"this machine can have none of them", []string{"fanout", "--faults", "worker.kill"}},
	} {
		got := call(t, nil, append([]string{"chaos", "--out", t.TempDir()}, c.args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d, %q", c.args, got.code, got.out)
		}
		wantParts(t, got.err, c.says)
	}
}

// The case of a workflow that fails in each instance runs again, until its file changes.
func TestChaosReplaysWhatDidNotChange(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path, dir := file(t, "fails.py", unsteady), t.TempDir()
	got := run(t, "chaos", path+":Fails", "--input", `{"n": 7}`, "--faults", "none", "--duration", "0s", "--in-flight", "2", "--cancel", "0", "--shrink", "0", "--out", dir)
	if got.code != 0 {
		t.Fatalf("exit status %d: %s %s", got.code, got.out, got.err)
	}
	wantParts(t, got.err, "plain Python fails with LookupError: no 7; so do")
	kase := filepath.Join(dir, "case.json")
	if again := run(t, "chaos", "--replay", kase, "--shrink", "0", "--out", t.TempDir()); again.code != 0 {
		t.Errorf("exit status %d: %s %s", again.code, again.out, again.err)
	}
	changed := strings.Replace(unsteady, "raise LookupError(text)", "raise LookupError(text + '!')", 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	again := call(t, nil, "chaos", "--replay", kase, "--shrink", "0", "--out", t.TempDir())
	if again.code != console.ExitUsage {
		t.Errorf("exit status %d: %s", again.code, again.out)
	}
	wantParts(t, again.err, "@fail_with gives other values than when the case was written; run the workflow anew, without --replay")
}

// The simulator uses recorded answers, so that a case runs again without Python.
func TestSimSearchesWorkflowsInPython(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path, dir := file(t, "unsteady.py", unsteady), t.TempDir()
	for _, target := range []string{exampleFlow, path + ":Unsteady", path + ":Fails"} {
		got := call(t, nil, "sim", target, "--seeds", "0..15", "--twice", "--out", t.TempDir())
		if got.code != 0 {
			t.Errorf("%s: exit status %d: %s %s", target, got.code, got.out, got.err)
		}
		wantParts(t, got.out, "16 seeds", "1 programs")
	}
	got := call(t, nil, "sim", exampleFlow, "--input", `{"fan_out": 4, "loop_iters": 2}`, "--seeds", "0..255", "--bug", "token-ignored", "--shrink", "0", "--out", dir)
	if got.code != console.ExitFailed {
		t.Fatalf("exit status %d: %s %s", got.code, got.out, got.err)
	}
	wantParts(t, got.out, "violation, seed ")
	again := call(t, nil, "sim", "--replay", filepath.Join(dir, "case.json"))
	if again.code != console.ExitFailed || strings.Contains(again.out, "UnknownCall") {
		t.Errorf("exit status %d: %s", again.code, again.err)
	}
	_, violation, _ := strings.Cut(got.out, "smallest case: ")
	_, violation, _ = strings.Cut(violation, "program: ")
	violation, _, _ = strings.Cut(violation, "\n")
	wantParts(t, again.out, violation)
}

func TestWorkOnAWorkflowInPython(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path, dsn := file(t, "steps.py", steps), pgtest.DSN(t)
	text := call(t, nil, "compile", path)
	if text.code != 0 {
		t.Fatalf("%+v", text)
	}
	for _, design := range depth.Of([]string{"push"}, []string{"push", "eager", "pull", "pull:scan=sql"}) {
		schema := pgtest.Schema(t)
		store, ids := submitted(t, design, dsn, schema, text.out, `{"n": 4}`, `{"n": 2}`)
		got := runForRaces(t, "work", path, "--backend", design, "--dsn", dsn, "--schema", schema, "--processes", "1", "--idle-exit", "10s")
		if got.code != 0 || got.out != "" {
			t.Errorf("%s: exit status %d, %q, %q", design, got.code, got.out, got.err)
		}
		wantParts(t, got.err, "step 3 ", "pulley: 6 attempts done, 0 of them failed; 2 instances ended")
		found, err := store.Lookup(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{"[0,1,4,9]", "[0,1]"} {
			if found[i].Status != backend.Completed || string(found[i].Result) != want {
				t.Errorf("%s: instance %d is %s with %s, want %s", design, i, found[i].Status, found[i].Result, want)
			}
		}
	}
}

func TestWorkOnPythonRefuses(t *testing.T) {
	t.Parallel()
	needsPython(t)
	path := file(t, "steps.py", steps)
	for want, args := range map[string][]string{
		"write " + path: {path + ":Steps"},
		"orders.yaml: pulley work takes a FILE.py":    {"orders.yaml"},
		"--processes is for the actions of a FILE.py": {"--processes", "2"},
		"--processes 5000: choose from 1 to 1000":     {path, "--processes", "5000"},
		"nowhere.py: there is no such file":           {"nowhere.py"},
	} {
		if got := call(t, nil, append([]string{"work", "--dsn", "postgres://nobody@localhost:1/x"}, args...)...); got.code != console.ExitUsage || got.out != "" || !strings.Contains(got.err, want) {
			t.Errorf("%q: exit status %d, %q; want %q", args, got.code, got.err, want)
		}
	}
}

func runWithin(t *testing.T, binary string, within time.Duration, env []string, args ...string) result {
	t.Helper()
	cmd := commandWithin(t, binary, within, args...)
	cmd.Env = slices.Concat(cmd.Env, env)
	return outcomeOf(t, cmd)
}
