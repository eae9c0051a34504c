package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

func TestLimitMistakes(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	where := []string{"--dsn", dsn, "--schema", schema}
	if got := call(t, nil, append([]string{"limit", "set", "posts", "--concurrency", "1"}, where...)...); got != (result{out: "limit posts: 1 at once of @posts\n"}) {
		t.Fatalf("%+v", got)
	}
	for want, args := range map[string][]string{
		"--instances-of is for --instances; add it":                                                           {"set", "x", "--instances-of", "a.ir", "--concurrency", "1"},
		"a limit bounds instances of workflows or attempts of actions":                                        {"set", "x", "--instances", "3", "--concurrency", "1"},
		"a limit has -1 instances; give from 1 to 1000000":                                                    {"set", "x", "--instances=-1"},
		"--concurrency and --rate: give one or both":                                                          {"set", "x"},
		"concurrency is -1; give from 1 to 1000000":                                                           {"set", "x", "--concurrency=-1"},
		`--rate: rate "fast"; write starts per period, such as 100/s, 10/m, 5/h or 30/15s`:                    {"set", "x", "--rate", "fast"},
		`--rate: rate "1/10ms": a rate is per 10ms; give from 1s to 24h0m0s`:                                  {"set", "x", "--rate", "1/10ms"},
		`the name of a limit is "a\tb"; give one of printable text`:                                           {"set", "a\tb", "--action", "x", "--concurrency", "1"},
		`action "x" is named twice`:                                                                           {"set", "l", "--action", "x", "--action", "@x", "--concurrency", "1"},
		"limit other of schema " + schema + ": an action can be in one limit only, and limit posts has posts": {"set", "other", "--action", "posts", "--rate", "1/s"},
		`there is no limit "psots", did you mean "posts"?`:                                                    {"rm", "psots"},
	} {
		got := call(t, nil, append(append([]string{"limit"}, args[0]), append(where, args[1:]...)...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, want)
	}
	wantLine(t, call(t, nil, "limit", "list", "--dsn", dsn, "--schema", "nobody_was_here").err, "there is no schema nobody_was_here; --schema and --backend say where to look, pulley limit set makes it")
	for _, design := range []string{"eager", "pull", "pull:scan=sql"} {
		got := call(t, nil, "limit", "set", "x", "--concurrency", "1", "--dsn", dsn, "--backend", design, "--schema", pgtest.SchemaOf(t, design))
		if got.code != console.ExitUsage {
			t.Errorf("%+v", got)
		}
		wantLine(t, got.err, "backend "+design+" has no limits; push and journal have")
	}
	if got := call(t, nil, append([]string{"limit", "rm", "posts"}, where...)...); got != (result{out: "removed posts\n"}) {
		t.Errorf("%+v", got)
	}
	got := call(t, nil, append([]string{"limit", "list"}, where...)...)
	if got.code != 0 || got.out != "" || !strings.Contains(got.err, "has no limits; pulley limit set stores one") {
		t.Errorf("%+v", got)
	}
}

// pulley work keeps a limit, pulley limit list shows what it has, pulley why names it, and all waits end when it is removed.
func TestLimitOfWork(t *testing.T) {
	t.Parallel()
	prog := file(t, "hold.ir", "fn main(input: [ms], output: [x]):\n    x = @sleep(ms=ms)\n")
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
	if got := do("limit", "set", "holds", "--action", "@sleep", "--concurrency", "2"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	var ids []string
	for range 8 {
		ids = append(ids, strings.TrimSpace(do("submit", prog, "--input", `{"ms": 1500}`).out))
	}
	cmd := raceCommand(t, append([]string{"work", "--idle-exit", "4s"}, where...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := depth.Within(t.Context(), t, deadline)
	defer cancel()
	var all []describedLimitOf
	for range pause.Tries(ctx, 20*time.Millisecond) {
		got := do("limit", "list", "--format", "json")
		if err := json.Unmarshal([]byte(got.out), &all); err != nil || len(all) != 1 || all[0].Permits > 2 {
			t.Fatalf("%v: %+v", err, got)
		}
		if all[0].Permits == 2 && all[0].Waiting > 0 && len(all[0].Engines) == 1 {
			break
		}
	}
	if got := do("why", ids[7]); !strings.Contains(got.out, "limit holds") && !strings.Contains(got.out, "leased until") && !strings.Contains(got.out, "completed") { // a slow machine asks late
		t.Errorf("%+v", got)
	}
	if got := do("limit", "rm", "holds"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	for _, id := range ids {
		if got := do("wait", id); got.code != 0 {
			t.Errorf("%+v", got)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

type describedLimitOf struct {
	Name             string
	Permits, Waiting int
	Engines          []struct{ Engine string }
}

// A limit of instances holds for pulley submit: it waits, or ends with --no-wait, also in the middle of a batch, and pulley why tells.
func TestFullLimit(t *testing.T) {
	t.Parallel()
	for _, design := range []string{"push", "journal"} {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			prog := file(t, "crunch.ir", "fn main(input: [n], output: [x]):\n    x = @echo(value=n)\n")
			lines := file(t, "inputs.ndjson", strings.Repeat(`{"n": 1}`+"\n", 5))
			where := []string{"--dsn", pgtest.DSN(t), "--backend", design, "--schema", pgtest.SchemaOf(t, design)}
			do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
			first := strings.TrimSpace(do("submit", prog, "--input", `{"n": 1}`, "--key", "first").out)
			if got := do("limit", "set", "backlog", "--instances-of", "flows/crunch.ir", "--instances", "3"); got.out != "limit backlog: 3 instances of crunch.ir\n" {
				t.Fatalf("%+v", got)
			}
			got := do("submit", prog, "--batch", lines, "--no-wait")
			if got.code != console.ExitFailed || strings.Count(got.out, "\n") != 2 || !strings.Contains(got.err, "limit backlog: the limit of instances is reached") {
				t.Errorf("%+v", got)
			}
			wantParts(t, do("limit", "list").out, "backlog", "crunch.ir", "3 instances")
			if got := do("why", "backlog"); got.out != "Limit backlog has given all of its 3 places away: what is submitted waits or is refused, unless an instance with a place has ended by then.\n" {
				t.Errorf("%+v", got)
			}
			none := do("why", "01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6")
			wantLine(t, none.err, "there is no instance 01a1fbf5", "; limit backlog is full, so it may wait to be submitted")
			if got := do("submit", prog, "--input", `{"n": 1}`, "--key", "first", "--no-wait"); strings.TrimSpace(got.out) != first {
				t.Errorf("a repetition: %+v", got)
			}
			waiting := command(t, append([]string{"submit", prog, "--batch", lines}, where...)...)
			var out, told strings.Builder
			waiting.Stdout, waiting.Stderr = &out, &told
			err := waiting.Start()
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- waiting.Wait() }()
			for over := false; !over; {
				if got := do("work", "--idle-exit", "300ms"); got.code != 0 {
					t.Fatalf("%+v", got)
				}
				select {
				case err = <-ended:
					over = true
				default:
				}
			}
			if err != nil || strings.Count(out.String(), "\n") != 5 {
				t.Errorf("%v: %q, %s", err, out.String(), told.String())
			}
		})
	}
}

// An urgent instance is submitted with its priority, which pulley show and pulley schedule show tell; what cannot be is refused.
func TestPriority(t *testing.T) {
	t.Parallel()
	prog := file(t, "report.ir", "fn main(input: [n], output: [x]):\n    x = @echo(value=n)\n")
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	do := func(args ...string) result { return call(t, nil, append(args, where...)...) }
	id := strings.TrimSpace(do("submit", prog, "--input", `{"n": 1}`, "--priority", "9", "--key", "k").out)
	wantParts(t, do("show", id).out, "\npriority   9\n")
	wantParts(t, do("show", id, "--format", "json").out, `"priority": 9`)
	if got := do("submit", prog, "--input", `{"n": 1}`, "--priority", "9", "--key", "k"); strings.TrimSpace(got.out) != id {
		t.Errorf("a repetition: %+v", got)
	}
	if got := do("submit", prog, "--input", `{"n": 1}`, "--key", "k"); got.code != console.ExitUsage {
		t.Errorf("a repetition with another priority: %+v", got)
	}
	if got := do("schedule", "add", "nightly", prog, "--input", `{"n": 1}`, "--every", "1h", "--priority", "3"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	wantParts(t, do("schedule", "show", "nightly").out, "priority")
	for _, wrong := range []string{"-1", "10"} {
		if got := do("submit", prog, "--input", `{"n": 1}`, "--priority="+wrong); got.code != console.ExitUsage || !strings.Contains(got.err, "--priority: the priority is "+wrong+"; give one from 0 to 9") {
			t.Errorf("%+v", got)
		}
	}
	other := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "eager"), "--backend", "eager"}
	for _, args := range [][]string{{"submit", prog, "--input", `{"n": 1}`, "--priority", "1"}, {"schedule", "add", "s", prog, "--input", `{"n": 1}`, "--every", "1h", "--priority", "1"}} {
		got := call(t, nil, append(args, other...)...)
		if got.code != console.ExitUsage {
			t.Errorf("%+v", got)
		}
		wantLine(t, got.err, "--priority: backend eager has no priorities; push and journal have")
	}
}
