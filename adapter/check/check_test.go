package check_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/adapter/check"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// mistakeVariable makes the test binary an adapter with a mistake; "none" is a good one.
const mistakeVariable = "PULLEY_TEST_MISTAKE"

func TestMain(m *testing.M) {
	if mistake := os.Getenv(mistakeVariable); mistake != "" {
		os.Exit(runAdapter(mistake))
	}
	if design := os.Getenv(designVariable); design != "" {
		runOwn(design)
	}
	goleak.VerifyTestMain(sharing{m})
}

// sharing runs the tests with a server that some of them share.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return pgtest.Run(s.m) }

// command is the test binary as an adapter.
func command(t *testing.T, mistake string) []string {
	t.Helper()
	depth.Needs(t, "other processes")
	return []string{"env", mistakeVariable + "=" + mistake, os.Args[0]}
}

// TestGoodAdapter checks that the good adapter has no findings, with a database that it does not use but to see that it is there.
func TestGoodAdapter(t *testing.T) {
	t.Parallel()
	r, err := check.Run(t.Context(), check.Options{Command: command(t, "none"), DSN: pgtest.DSN(t), Settings: map[string]string{"color": "blue"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Error(f)
	}
	want := []string{
		"a killed process", "a paused process", "a process after a killed one", "a request in pieces", "create", "end of standard input", "first process", "graph chain", "graph diamond", "graph ends", "graph fan",
		"hello", "large values", "later versions", "look", "look in a new process", "ms", "one process", "order", "repeat", "report ends", "resubmission", "retries", "second process", "settings",
		"single", "slots", "stop", "stop at work", "submit", "submitted is durable", "two requests at once", "unusable database",
	}
	for _, name := range want {
		if !slices.Contains(r.Passed, name) {
			t.Errorf("%s has not passed", name)
		}
	}
	if len(r.LeftOut) != 1 || !strings.HasPrefix(r.LeftOut[0], "lost connections: ") {
		t.Errorf("left out is %q", r.LeftOut)
	}
	if slices.Contains(r.Passed, "lost connections") { // it was begun
		t.Error("what was left out has passed")
	}
	if r.Hello == nil || r.Hello.Name != "test" {
		t.Errorf("the hello is %+v", r.Hello)
	}
}

// TestModestAdapter asks an adapter that promises nothing for nothing.
func TestModestAdapter(t *testing.T) {
	t.Parallel()
	r, err := check.Run(t.Context(), check.Options{Command: command(t, "single only"), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Error(f)
	}
	left := strings.Join(r.LeftOut, "\n")
	for _, name := range []string{"graph", "repeat", "retries", "order", "resubmission", "submitted is durable", "settings", "a killed process"} {
		if !strings.Contains("\n"+left, "\n"+name) {
			t.Errorf("%s is not left out, but\n%s", name, left)
		}
	}
}

// mistakes are mistakes of adapters, with a regular expression for the finding. Those of nothing that comes are waited for a
// short time.
var mistakes = map[string]string{
	"no hello":         `hello: expected a hello within .*; came nothing for .*; answer`,
	"crash":            `hello: expected a hello within 1m0s; came its end with exit status 1, and on standard error: no license; answer`,
	"version":          `hello: expected a hello that is right; came one where version is 2; pulley speaks version 1; correct`,
	"promise word":     `hello: .*the promise execution is "exactly-once"; it is at-least-once or at-most-once, or not there`,
	"settings twice":   `hello: .*two settings have the name poll_ms`,
	"prints":           `output: expected nothing but messages on standard output; came starting; print to standard error`,
	"key last":         `output: expected messages that begin with {"pulley":; came {"batch":1,"pulley":"submitted"}; write the key pulley first`,
	"unreadable":       `output: expected messages that can be read; came {"pulley":"ended",.*unexpected end of JSON input; write each message`,
	"other kind":       `output: expected messages of the kinds that docs/adapter.md has; came {"pulley":"completed",.*; pulley ignores this kind`,
	"settings taken":   `settings: sent setup with the setting poll_ms=no-number; expected error with a message, or exit status 2.*; came ready; check settings`,
	"trace":            `unusable database: sent setup with the DSN .*; expected a reason for people in one line; came a stack trace: .*; say`,
	"lines":            `unusable database: .*; expected a reason in one line; came 2: no database:`,
	"one process":      `second process: sent setup without create; expected ready within 1m0s; came its end with exit status 1, and on standard error: another process works here; without create`,
	"no submitted":     `one process: sent {"pulley":"submit","batch":1,.*; expected submitted with the batch within .*; came nothing for .*; answer submit`,
	"other batch":      `answers: expected one answer to each submit and look, with its batch; came one to no open batch: .*101`,
	"pieces dropped":   `two requests at once: sent {"pulley":"submit",.*; expected submitted with the batch \d+; came nothing for .*; read all lines`,
	"later dies":       `later versions: sent {"pulley":"of_a_later_version".*; came its end with exit status 2.*; ignore kinds`,
	"order":            `order: sent two batches .*; expected starts in the order of submission, as the promise order says; came check-\d+ as number \d+, instead of check-\d+; promise none`,
	"no end":           `one process: expected the ends of 20 instances within .*; came those of 0; of check-1 \(one\), started are only, and finished only; execute`,
	"other end":        `ends: expected one end of an instance, the same in each report; came {"pulley":"ended".* after {"pulley":"ended".*; report an end when it is durable`,
	"early end":        `ends: expected ended after every task has finished; came the end of check-\d+ \(diamond\), and nothing of its task [cd]; write`,
	"other instance":   `reports: expected reports of instances that were submitted; came {"pulley":"ended","instance":"xcheck-1".*; give the id back`,
	"fails":            `retries: expected failed only of tasks with fails; came {"pulley":"failed",.*; let no other task fail`,
	"not started":      `started before finished: expected started with the same instance, task, attempt and round before finished; came {"pulley":"finished",.*; write started`,
	"not finished":     `inputs: expected inputs that are values of finished executions, byte for byte; came task c of check-\d+ has .* from b, which no finished reported; write finished`,
	"no inputs":        `inputs: expected an input for each task that the task needs, and no other; came {"pulley":"started",.*, which needs [ab]; give started`,
	"own inputs":       `inputs: expected inputs that are values of finished executions, byte for byte; came task`,
	"no last round":    `inputs: expected an input .*, which needs ""; give started`,
	"no round":         `rounds: expected the round in reports of a workload with repeat; came`,
	"wrong sum":        `sums: expected the SUM .*; came {"pulley":"finished",.*"value":"95:.*, where it is 5; compute`,
	"another spelling": `sums: expected the SUM .*; came {"pulley":  "finished", "at": 1.0, "instance":"check-1",.*, where it is 5; compute`,
	"no token":         `tokens: expected a token in each value; came`,
	"same token":       `tokens: expected a token that no other execution has; came that of task only of check-\d+ again: `,
	"no bytes":         `large values: expected values of at least 1048576 bytes, as the task's bytes says; came one of \d+: `,
	"large cut":        `inputs: expected inputs that are values of finished executions, byte for byte; came task b of check-\d+ has ".*… \(1000 bytes\)" from a, which no finished`,
	"attempt is 1":     `attempts: expected the attempts 1, 2 and so on of a task that fails; came those of task a of check-\d+ are \[1\]; write`,
	"never fails":      `retries: expected as many failed attempts of a task as its fails says; came 0 of task a of check-\d+, instead of 2; let`,
	"look trims":       `look: sent look of check-\d+; expected what ended reported, byte for byte; came completed ".*", after {"pulley":"ended"`,
	"look is open":     `look: sent look of check-\d+; expected what ended reported, byte for byte; came open "", after`,
	"unknown is open":  `look: sent look of check-nobody-submitted-this; expected the status unknown for an id that was never submitted; came open; say`,
	"unknown left out": `answers: expected in states one state for each id of look; came .*; answer for exactly`,
	"resubmission":     `resubmission: sent submit of 4 instances that have ended; expected no execution of a task, as the promise resubmit once says; came \d+ executions?; let`,
	"too many":         `slots: expected at most 1 tasks at work in a process, as open says; came 2 that have started and not finished; start no more`,
	"one at a time":    `slots: sent 12 instances to two processes with 3 slots each; expected tasks that are executed at once; came never more than one in a process`,
	"no sleep":         `ms: sent a task with "ms":500; expected time between its started and its finished; came at most .*; sleep`,
	"never recovers":   `a killed process: sent SIGKILL to one of two processes .*; expected the ends of 12 instances within .*; came those of \d+; of check-\d+ \(slow\), started are .*; let other processes`,
	"at most once":     `execution: expected no attempt that starts twice, as the promise execution at-most-once says; came a second start: {"pulley":"started"`,
	"two results":      `results: expected one value of a task for all that need it, as the promise results once says; came task .* of check-\d+ has ".*" from a, and another has ".*"; let`,
	"stop fails":       `create: sent stop after ready, without open; expected its end with status 0 within 1m0s; came its end with exit status 3; take no more tasks`,
	"stop hangs":       `stop: sent stop; expected its end with status 0 within .*; came nothing for .*; take no more tasks`,
	"end ignored":      `end of standard input: sent the end of standard input after hello; expected its end with status 0 within .*; came nothing for .*; take`,
	"report ends":      `report ends: expected no other reports than ended; came {"pulley":"started",.*; with the report ends`,
}

// TestWrongAdapters plants one mistake in an adapter, and checks that it is reported.
func TestWrongAdapters(t *testing.T) {
	t.Parallel()
	turns := make(chan struct{}, 6) // they wait more than they work
	var all sync.WaitGroup
	// A change needs one of three of them; which, does not change.
	for i, mistake := range slices.Sorted(maps.Keys(mistakes)) {
		if i%depth.Of(3, 1) != 0 {
			continue
		}
		argv, want := command(t, mistake), mistakes[mistake]
		inVain, pattern := strings.Contains(want, "came nothing") || strings.Contains(want, "instances within"), regexp.MustCompile(want)
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var report *check.Report
			for _, wait := range waits(inVain) {
				o := check.Options{Command: argv, Timeout: wait, Recovery: wait}
				if mistake == "never recovers" {
					o.Timeout = time.Minute
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				found := errors.New("found")
				o.Found = func(f check.Finding) {
					if strings.Contains(f.String(), "\n") {
						t.Errorf("%s: a finding has more than one line: %s", mistake, f)
					}
					if pattern.MatchString(f.String()) {
						cancel(found) // the rest would take time
					}
				}
				var err error
				switch report, err = check.Run(ctx, o); {
				case errors.Is(err, found):
					return
				case err != nil:
					t.Errorf("%s: %v", mistake, err)
					return
				}
			}
			t.Errorf("%s: found is\n%v\nwant\n%s", mistake, report.Findings, want)
		})
	}
	all.Wait()
}

// waits are how long an adapter may take. Where the finding is that nothing comes, a short wait suffices mostly: it is made longer if
// other answers did not come in time, as on a busy machine.
func waits(inVain bool) []time.Duration {
	if inVain {
		return []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}
	}
	return []time.Duration{time.Minute}
}

// TestConsequences checks that a mistake is reported once, and not again by each check that it makes wait in vain. Those are named.
func TestConsequences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ mistake, finding, passed, left string }{
		{"no end", "one process", "settings", "order, stop, create, first process, second process, submit, single, two requests at once, a request in pieces, later versions, graph chain, " +
			"graph diamond, graph fan, graph ends, large values, repeat, retries, look, submitted is durable, resubmission, slots, ms, a killed process, a paused process, lost connections, " +
			"stop at work, report ends, look in a new process: they were not run, since one process has a finding"},
		{"no end of a graph", "graph chain", "later versions", "graph diamond, graph fan, graph ends, large values, repeat, retries, look, submitted is durable, resubmission, slots, ms, " +
			"a killed process, a paused process, lost connections, stop at work, report ends, look in a new process: they were not run, since graph chain has a finding"},
		{"crash", "hello", "", "all other checks: they were not run, since hello has a finding"},
	} {
		argv := command(t, c.mistake)
		t.Run(c.mistake, func(t *testing.T) {
			t.Parallel()
			var r *check.Report
			for _, wait := range waits(true)[1:] {
				var err error
				if r, err = check.Run(t.Context(), check.Options{Command: argv, Timeout: wait}); err != nil {
					t.Fatal(err)
				}
				if len(r.Findings) == 1 && r.Findings[0].Check == c.finding {
					break
				}
			}
			if len(r.Findings) != 1 || r.Findings[0].Check != c.finding {
				t.Errorf("the findings are %v", r.Findings)
			}
			if !slices.Contains(r.LeftOut, c.left) {
				t.Errorf("left out is\n%s\nwithout\n%s", strings.Join(r.LeftOut, "\n"), c.left)
			}
			if c.passed != "" && !slices.Contains(r.Passed, c.passed) {
				t.Errorf("%s has not passed, but %v", c.passed, r.Passed)
			}
		})
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]check.Options{
		"no adapter; name its program and its arguments, such as exec:./my-adapter --flag": {},
		"there is no program nosuchprogram; check the name, and PATH":                      {Command: []string{"nosuchprogram"}},
		"a time is below zero": {Command: []string{"sh"}, Timeout: -1},
		`the adapter test has no setting "colour", did you mean "color"?`: {Command: command(t, "none"), Settings: map[string]string{"colour": "red"}},
	} {
		if _, err := check.Run(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("Run gives %v, want %s", err, want)
		}
	}
}
