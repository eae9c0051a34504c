package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

const approval = `fn main(input: [], output: [by]):
    by = @wait_signal(name="approved")
`

func TestSignalMistakes(t *testing.T) {
	t.Parallel()
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
	id := strings.TrimSpace(do("submit", file(t, "approval.ir", approval)).out)
	for want, args := range map[string][]string{
		`id "order 17": this is not a UUID such as`:                                           {"order 17", "approved"},
		`--value "yes": this is no JSON; a text needs quotation marks, as in --value '"yes"'`: {id, "approved", "--value", "yes"},
		`the name of a signal is "a\x1bb"; give one of printable text`:                        {id, "a\x1bb"},
		"there is no instance 0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01 in schema":                 {"0b9e3a52-0d5b-7c64-9d5e-3f2f2f1f0a01", "approved"},
		"--timeout 0s: choose a positive time, such as 30s":                                   {id, "approved", "--timeout", "0s"},
		"backend memory keeps nothing for another command; choose another backend":            {id, "approved", "--backend", "memory"},
	} {
		got := do(append([]string{"signal"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, want)
	}
}

// A signal that is sent before pulley work begins, and its repetition, end a wait, on which pulley why had its sentence.
func TestSignalOfWork(t *testing.T) {
	t.Parallel()
	for _, design := range []string{"push", "journal", "eager", "pull"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			where := []string{"--dsn", pgtest.DSN(t), "--backend", design, "--schema", pgtest.SchemaOf(t, design)}
			do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
			prog := file(t, "approval.ir", approval)
			early, late := strings.TrimSpace(do("submit", prog).out), strings.TrimSpace(do("submit", prog).out)
			for _, want := range []string{"sent\n", "was there: a signal with this key was sent before\n"} {
				if got := do("signal", early, "approved", "--value", `{"by": "Ada"}`, "--key", "1"); got != (result{out: want}) {
					t.Errorf("%+v", got)
				}
			}
			cmd := raceCommand(t, append([]string{"work"}, where...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := depth.Within(t.Context(), t, deadline)
			defer cancel()
			why := result{}
			for range pause.Tries(ctx, 50*time.Millisecond) {
				if why = do("why", late); strings.Contains(why.out, `It waits for signal "approved" since `) {
					break
				}
			}
			if !strings.HasSuffix(why.out, ", at wait_signal (attempt 1).\n") {
				t.Errorf("%+v", why)
			}
			if got := do("signal", late, "approved", "--format", "json"); got.code != 0 || !strings.Contains(got.out, `"created": true`) {
				t.Errorf("%+v", got)
			}
			for id, want := range map[string]string{early: "completed: {\"by\":\"Ada\"}\n", late: "completed: null\n"} {
				if got := do("wait", id, "--timeout", "15m"); got.out != want {
					t.Errorf("%+v, want %s", got, want)
				}
			}
			got := do("signal", late, "approved")
			if got.code != console.ExitFailed || got.out != "" {
				t.Errorf("%+v", got)
			}
			wantLine(t, got.err, "instance "+late+": the instance has ended: it is completed")
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) {
				t.Errorf("pulley work ended with status %d", code)
			}
		})
	}
}

// An action of that name in a file of one's own replaces the built-in one.
func TestOwnActionNamedAsTheWait(t *testing.T) {
	t.Parallel()
	actions := file(t, "actions.yaml", "actions:\n  wait_signal: {process: [echo, '\"mine\"']}\n")
	got := call(t, nil, "run", file(t, "approval.ir", approval), "--backend", "memory", "--actions", actions, "--timeout", "1m")
	if got.code != 0 || got.out != "completed: \"mine\"\n" {
		t.Errorf("%+v", got)
	}
}

// A workflow in Python waits for a signal, and calls an action of its own, which other processes run.
func TestSignalOfPython(t *testing.T) {
	t.Parallel()
	flow := file(t, "flow.py", `from pulley import Workflow, action, wait_signal, workflow


@action
async def ship(order: int, by: str) -> str:
    return f"order {order}, by {by}"


@workflow
class Order(Workflow):
    async def run(self, order: int) -> str:
        by: str = await wait_signal("approved", timeout="72h")
        return await ship(order, by)
`)
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
	id := strings.TrimSpace(do("submit", flow, "--input", `{"order": 17}`).out)
	cmd := command(t, append([]string{"work", flow}, where...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := do("signal", id, "approved", "--value", `"Ada"`); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := do("wait", id, "--timeout", "15m"); got.out != "completed: \"order 17, by Ada\"\n" {
		t.Errorf("%+v", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) {
		t.Errorf("pulley work ended with status %d", code)
	}
}
