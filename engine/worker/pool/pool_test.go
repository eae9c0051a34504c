package pool_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/procgroup"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/procenv"
)

// within bounds every wait, with a large margin.
const within = 5 * time.Minute

type notes struct {
	mu             sync.Mutex
	logs, problems []string
}

func (n *notes) all() (logs, problems string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.logs, "\n"), strings.Join(n.problems, "\n")
}

// wants waits until count problems have a text. An attempt ends before the pool reports the worker's end.
func (n *notes) wants(t *testing.T, text string, count int) {
	t.Helper()
	await(t, fmt.Sprintf("%d problems have %q in them", count, text), func() bool {
		_, problems := n.all()
		return strings.Count(problems, text) >= count
	})
	if _, problems := n.all(); strings.Count(problems, text) != count {
		t.Errorf("the problems are %s; want %d with %q", problems, count, text)
	}
}

// open does not start the pool.
func open(t testing.TB, c pool.Config, p workerPlan) (*pool.Pool, *notes) {
	t.Helper()
	depth.Needs(t, "other processes")
	n := &notes{}
	k, err := procgroup.New()
	if err != nil {
		t.Fatal(err)
	}
	if c.Command == nil {
		c.Command = []string{os.Args[0]}
		c.Env = map[string]string{workerVariable: p.text()}
	}
	c.Name = "test"
	c.Log = func(worker, line string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.logs = append(n.logs, worker+": "+line)
	}
	c.Problem = func(err error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.problems = append(n.problems, err.Error())
	}
	made, err := pool.New(c, k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		if err := made.Close(ctx); err != nil {
			t.Error(err)
		}
		if left := procenv.Find(k.Tag(), procenv.Settled); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
		if err := k.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return made, n
}

func start(t testing.TB, c pool.Config, p workerPlan) (*pool.Pool, *notes) {
	t.Helper()
	c.Silence = cmp.Or(c.Silence, time.Hour) // on a busy machine, a live worker may be silent for seconds
	made, n := open(t, c, p)
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := made.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return made, n
}

func execute(ctx context.Context, p *pool.Pool, action, args string) string {
	reg, err := worker.NewRegistry(p.Actions()...)
	if err != nil {
		return err.Error()
	}
	result, failure := reg.Execute(ctx, backend.Task{Action: action, Args: json.RawMessage(args), Attempt: 3})
	return shown(result, failure)
}

func shown(result json.RawMessage, failure *plan.Failure) string {
	if failure != nil {
		return failure.Type + ": " + failure.Message
	}
	return string(result)
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for range pause.Tries(ctx, 5*time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("it never came about that %s", what)
}

func TestHowAttemptsEnd(t *testing.T) {
	t.Parallel()
	p, n := start(t, pool.Config{MaxDeliveries: 2}, workerPlan{Slots: 4, Beat: 100})
	for _, c := range []struct{ action, args, want string }{
		{"echo", `{"a":[1,2.0,"ü",123456789012345678901234567890]}`, `{"a":[1,2.0,"ü",123456789012345678901234567890]}`},
		{"echo", "  {\"a\" :\r\n\t1}\n", `{"a":1}`},
		{"echo", `{"a":"` + strings.Repeat("x", 900_000) + `"}`, `{"a":"` + strings.Repeat("x", 900_000) + `"}`},
		{"told", `{}`, `["told","00000000-0000-0000-0000-000000000000/","","",3,1,false]`},
		{"exact", `{"a":1}`, "ArgumentError: action exact: argument b is missing"},
		{"exact", `{"a":1,"b":2}`, `{"a":1,"b":2}`},
		{"some", `{"a":1}`, `{"a":1}`},
		{"decline", `{}`, `Declined: no "money" is left for ü`},
		{"huge", `{}`, "LimitExceeded: the worker's answer cannot be taken: it is longer than 8388608 bytes"},
		{"nothing", `{}`, "ResultError: the worker's answer cannot be read: it has no value; send null where there is none"},
		{"invalid", `{}`, "ResultError: the worker's answer cannot be read: it is not UTF-8"},
		{"garbage", `{}`, "true"},
		{"die", `{}`, "WorkerDied: action die: 2 workers died with the attempt, at the last: test[1]: it ended with signal: killed; the worker's log may say why"},
		{"half", `{}`, "WorkerDied: action half: 2 workers died with the attempt, at the last: test[1]: it ended with exit status 0; the worker's log may say why"},
		{"echo", `{"after":1}`, `{"after":1}`},
		{"no_such", `{}`, "UnknownAction: unknown action @no_such; register it, or write one of those that are"},
	} {
		if got := execute(t.Context(), p, c.action, c.args); got != c.want {
			t.Errorf("@%s(%.100s) gives %.300s, want %.300s", c.action, c.args, got, c.want)
		}
	}
	logs, problems := n.all()
	if !strings.Contains(logs, "test[1]: hello, I am no result\ntest[1]: neither am I") {
		t.Errorf("the log is %s", logs)
	}
	if strings.Count(problems, "ended with signal: killed") != 2 {
		t.Errorf("the problems are %s", problems)
	}
	for _, a := range p.Actions() {
		if exact := a.Name == "exact"; exact != (a.Args != nil) || exact && (a.Doc != "says hi" || !slices.Equal(a.Args, []string{"a", "b"})) {
			t.Errorf("action %s takes %v, and %q", a.Name, a.Args, a.Doc)
		}
	}
}

func TestArgumentsThatAreTooLong(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{}, workerPlan{})
	args := json.RawMessage(`{"a":"` + strings.Repeat("x", 9<<20) + `"}`)
	var typed *worker.Error
	if _, err := p.Func("echo")(t.Context(), worker.Call{Args: args}); !errors.As(err, &typed) || typed.Type != worker.TypeLimit {
		t.Errorf("it gives %v", err)
	}
	if got := execute(t.Context(), p, "noop", `{}`); got != "null" {
		t.Errorf("afterwards, an attempt gives %s", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p, n := start(t, pool.Config{Processes: 3, Slots: 4, AtOnce: 50}, workerPlan{Slots: 100, Beat: 1000})
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, i)
			if got := execute(t.Context(), p, "echo", args); got != args {
				t.Errorf("%s gives %s", args, got)
			}
		})
	}
	all.Wait()
	if _, problems := n.all(); problems != "" {
		t.Errorf("the problems are %s", problems)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		action string
		serial bool
		kills  bool
	}{{"hang", false, false}, {"ignore", false, true}, {"freeze", false, true}, {"hang", true, true}} {
		t.Run(fmt.Sprint(c.action, c.serial), func(t *testing.T) {
			t.Parallel()
			grace := within // a worker that answers has time enough even on a busy machine
			if c.kills {
				grace = 50 * time.Millisecond
			}
			p, n := start(t, pool.Config{Slots: 1, Grace: grace}, workerPlan{Serial: c.serial})
			before := execute(t.Context(), p, "pid", `{}`)
			ctx, timeOut := context.WithCancelCause(t.Context())
			over := &worker.Error{Type: worker.TypeTimeout, Message: "over"}
			defer timeOut(over)
			var both sync.WaitGroup
			for range 2 { // one of them never reaches a worker
				both.Go(func() {
					if got := execute(ctx, p, c.action, `{}`); got != "Timeout: over" {
						t.Errorf("at its timeout an attempt gives %s", got)
					}
				})
			}
			await(t, "an attempt is at work", func() bool { return p.AtWork() == 1 })
			timeOut(over)
			both.Wait()
			after := execute(t.Context(), p, "pid", `{}`)
			if _, problems := n.all(); (before != after) != c.kills || strings.Contains(problems, "did not answer within 50ms that action "+c.action+" was cancelled") != c.kills {
				t.Errorf("the worker was %s and is %s; problems: %s", before, after, problems)
			}
		})
	}
}

// Workers are killed repeatedly for one attempt, while they run another that is delivered again.
func TestInnocentAttemptsAreNotCounted(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{MaxDeliveries: 1, Grace: -1}, workerPlan{Slots: 2})
	innocent := make(chan string)
	go func() { innocent <- execute(t.Context(), p, "nap", `{"ms":1500}`) }()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		execute(ctx, p, "ignore", `{}`)
		cancel()
	}
	if got := <-innocent; strings.Contains(got, ":") {
		t.Errorf("the other attempt gives %s", got)
	}
}

// An attempt kills its worker each time, with others in the same worker: only it may fail, after exactly the bound.
func TestPoison(t *testing.T) {
	t.Parallel()
	p, n := start(t, pool.Config{MaxDeliveries: 5}, workerPlan{Slots: 8})
	var all sync.WaitGroup
	for range 7 {
		all.Go(func() {
			if got := execute(t.Context(), p, "nap", `{"ms":300}`); strings.Contains(got, ":") {
				t.Errorf("an attempt beside it gives %s", got)
			}
		})
	}
	want := "WorkerDied: action die: 5 workers died with the attempt, at the last: test[1]: it ended with signal: killed; the worker's log may say why"
	if got := execute(t.Context(), p, "die", `{}`); got != want {
		t.Errorf("it gives %s, want %s", got, want)
	}
	all.Wait()
	n.wants(t, "signal: killed", 5)
}

// Killing a worker with an attempt must count as a death, and an idle worker must not be killed.
func TestKill(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{MaxDeliveries: 1}, workerPlan{})
	before := execute(t.Context(), p, "pid", `{}`)
	if p.Kill() {
		t.Error("a worker is killed that has nothing to do")
	}
	ended := make(chan string)
	go func() { ended <- execute(t.Context(), p, "hang", `{}`) }()
	await(t, "a worker has the attempt", func() bool { return p.AtWork() == 1 })
	if !p.Kill() {
		t.Error("no worker is killed")
	}
	if got := <-ended; !strings.HasPrefix(got, "WorkerDied: ") {
		t.Errorf("its attempt gives %s", got)
	}
	if after := execute(t.Context(), p, "pid", `{}`); after == before {
		t.Errorf("worker %s continues", after)
	}
}

// An engine counts the deaths of its workers and of earlier engines.
func TestTheEngineSeesToDeliveries(t *testing.T) {
	t.Parallel()
	p, n := start(t, pool.Config{}, workerPlan{Slots: 8})
	var died *worker.DiedError
	if _, err := p.Func("die")(t.Context(), worker.Call{Args: json.RawMessage("{}"), Delivery: 1}); !errors.As(err, &died) ||
		err.Error() != "the worker died: test[1]: it ended with signal: killed" {
		t.Errorf("it gives %v", err)
	}
	told, err := p.Func("told")(t.Context(), worker.Call{Args: json.RawMessage("{}"), Delivery: 5})
	if raw, _ := told.(json.RawMessage); err != nil || !strings.Contains(string(raw), `,0,5,`) {
		t.Errorf("the fifth delivery is told as %s, %v", raw, err)
	}
	reg, err := worker.NewRegistry(p.Actions()...)
	if err != nil {
		t.Fatal(err)
	}
	got := throughEngine(t, reg, "fn main(input: [], output: [x]):\n    try:\n        x = @die()\n    except WorkerDied as e:\n        x = e[\"type\"]\n    return x\n")
	if got != `"WorkerDied"` {
		t.Errorf("through an engine it gives %s", got)
	}
	n.wants(t, "signal: killed", 1+5)
}

func throughEngine(t *testing.T, reg *worker.Registry, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	program, err := plan.CompileText("test.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	e, err := engine.New(engine.Config{Backend: store, Workers: reg})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: program, Input: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Result)
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan   workerPlan
		action string
	}{
		"stopped": {workerPlan{Beat: 20}, "freeze"},
		"mute":    {workerPlan{Beat: 20, Mute: true}, "ignore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, n := start(t, pool.Config{MaxDeliveries: 2, Silence: 200 * time.Millisecond}, c.plan)
			if got := execute(t.Context(), p, c.action, `{}`); !strings.HasPrefix(got, "WorkerDied: ") || !strings.Contains(got, "it was silent for 200ms, although it sends heartbeats") {
				t.Errorf("it gives %s", got)
			}
			if _, problems := n.all(); !strings.Contains(problems, "silent") {
				t.Errorf("the problems are %s", problems)
			}
		})
	}
	t.Run("beats", func(t *testing.T) {
		t.Parallel()
		for silence := time.Second; ; silence *= 8 { // on a busy machine, a worker is silent while it gets no processor
			p, n := start(t, pool.Config{Silence: silence}, workerPlan{Beat: 20})
			got := execute(t.Context(), p, "nap", fmt.Sprintf(`{"ms":%d}`, (2*silence).Milliseconds()))
			_, problems := n.all()
			switch {
			case !strings.Contains(got, ":") && problems == "":
				return
			case silence > within:
				t.Fatalf("a worker that works for long gives %s; the problems are %s", got, problems)
			}
			t.Logf("with %v of silence: %s", silence, problems)
		}
	})
}

// Such workers must be reported with their output, and not tried for ever.
func TestWorkersThatCannotBegin(t *testing.T) {
	t.Parallel()
	crash := filepath.Join(t.TempDir(), "crash")
	if err := os.WriteFile(crash, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		plan   workerPlan
		config pool.Config
		want   string
		starts int
	}{
		"crashes":     {workerPlan{Crash: crash}, pool.Config{}, "it ended with exit status 3 before it said hello: no license", 3},
		"refuses":     {workerPlan{Status: 2}, pool.Config{}, "it ended with exit status 2 before it said hello: flow.py:7: it is wrong", 1},
		"late":        {workerPlan{}, pool.Config{Command: []string{"/bin/sleep", "600"}, HelloTimeout: 50 * time.Millisecond, Starts: 2}, "it did not say hello within 50ms", 2},
		"version":     {workerPlan{Hello: `{"pulley":"hello","version":2}`}, pool.Config{Starts: 1}, "its hello is wrong: its version of the protocol is 2; pulley speaks version 1", 1},
		"no actions":  {workerPlan{Hello: `{"pulley":"hello","version":1,"name":"x"}`}, pool.Config{Starts: 1}, "its hello is wrong: it lists no actions; list one at least", 1},
		"wrong field": {workerPlan{Hello: `{"pulley":"hello","version":"1"}`}, pool.Config{Starts: 1}, "its hello is wrong: its field version is a string, where a int belongs", 1},
		"no JSON":     {workerPlan{Hello: `{"pulley":"hello","version":1`}, pool.Config{Starts: 1}, "its hello is wrong: it is not JSON: byte 29: unexpected end of JSON input", 1},
		"no message":  {workerPlan{Hello: "hello, I am a worker", ByesAfter: 1}, pool.Config{HelloTimeout: 500 * time.Millisecond, Starts: 1}, "it did not say hello within 500ms", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, n := open(t, c.config, c.plan)
			err := p.Start(t.Context())
			var typed *worker.Error
			if !errors.As(err, &typed) || typed.Type != pool.TypeStart || typed.Message != "no worker of test can be started: "+c.want {
				t.Errorf("Start gives %v, want %s", err, c.want)
			}
			if _, problems := n.all(); strings.Count(problems, "test[1]: ") != c.starts {
				t.Errorf("%d starts were to be tried; problems: %s", c.starts, problems)
			}
			if _, err := p.Func("echo")(t.Context(), worker.Call{}); !errors.As(err, &typed) || typed.Type != pool.TypeStart {
				t.Errorf("an attempt gives %v", err)
			}
			if p.Start(t.Context()) == nil {
				t.Error("the pool is started twice")
			}
		})
	}
}

// A pool has given up. An attempt must revive it once the reason no longer holds.
func TestPoolComesBack(t *testing.T) {
	t.Parallel()
	crash := filepath.Join(t.TempDir(), "crash")
	p, _ := start(t, pool.Config{Processes: 2, Starts: 1, MaxDeliveries: 1, PauseMost: 50 * time.Millisecond}, workerPlan{Crash: crash})
	if err := os.WriteFile(crash, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "the pool gives up", func() bool {
		return strings.HasPrefix(execute(t.Context(), p, "die", `{}`), "StartError: no worker of test can be started: it ended with exit status 3")
	})
	if err := os.Remove(crash); err != nil {
		t.Fatal(err)
	}
	await(t, "the pool is back", func() bool { return execute(t.Context(), p, "noop", `{}`) == "null" })
}

// Workers say bye during their work: nothing may be lost or delivered twice.
func TestBye(t *testing.T) {
	t.Parallel()
	p, n := start(t, pool.Config{Processes: 2, MaxDeliveries: 1}, workerPlan{Slots: 4, ByesAfter: 10})
	pids := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 5 {
				got := execute(t.Context(), p, "nap", `{"ms":1}`)
				if strings.Contains(got, ":") {
					t.Errorf("an attempt gives %s", got)
				}
				mu.Lock()
				pids[got] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if _, problems := n.all(); problems != "" || len(pids) < 4 {
		t.Errorf("%d workers were at work; problems: %s", len(pids), problems)
	}
}

func TestCloseFinishesWork(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{}, workerPlan{Slots: 1, Beat: 50})
	working, waiting := make(chan string, 1), make(chan string, 1)
	began := execute(t.Context(), p, "pid", `{}`)
	go func() { working <- execute(t.Context(), p, "nap", `{"ms":500}`) }()
	await(t, "the attempt is at work", func() bool { return p.AtWork() == 1 })
	go func() { waiting <- execute(t.Context(), p, "noop", `{}`) }()
	await(t, "another waits", func() bool { return p.Waiting() == 1 })
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := <-working; got != began {
		t.Errorf("the one at work gives %s, want %s", got, began)
	}
	if got := <-waiting; got != "Error: the pool of workers is closed" {
		t.Errorf("the one that waits gives %s", got)
	}
	if got := execute(t.Context(), p, "noop", `{}`); got != "Error: the pool of workers is closed" {
		t.Errorf("afterwards one gives %s", got)
	}
}

func TestCloseKills(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{}, workerPlan{})
	hanging := make(chan string, 1)
	go func() { hanging <- execute(t.Context(), p, "ignore", `{}`) }()
	await(t, "the attempt is at work", func() bool { return p.AtWork() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close gives %v", err)
	}
	if got := <-hanging; got != "Error: the pool of workers is closed" {
		t.Errorf("the attempt gives %s", got)
	}
	uncancellable, n := start(t, pool.Config{Grace: 20 * time.Millisecond}, workerPlan{Ignores: "bye", Beat: 10})
	execute(t.Context(), uncancellable, "orphan", `{"token":"x"}`) // holds standard input and output open
	if err := uncancellable.Close(t.Context()); err != nil {
		t.Error(err)
	}
	_ = n
	never, _ := open(t, pool.Config{}, workerPlan{})
	if err := never.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	t.Parallel()
	sh := []string{"/bin/sh"}
	for want, c := range map[string]pool.Config{
		"no program; name one and its arguments":                      {},
		"there is no program nosuchprogram; check the name, and PATH": {Command: []string{"nosuchprogram"}},
		"1001 processes; choose from 1 to 1000":                       {Command: sh, Processes: 1001},
		"-1 slots; choose one at least":                               {Command: sh, Slots: -1},
		"-1 attempts at once; choose one at least":                    {Command: sh, AtOnce: -1},
		"-1 deliveries; choose one at least":                          {Command: sh, MaxDeliveries: -1},
		"-1 starts; choose one at least":                              {Command: sh, Starts: -1},
		"a time is below zero; leave it out for the default":          {Command: sh, Silence: -1},
		"a limit is below zero; leave it out for none":                {Command: sh, Limits: procgroup.Limits{OpenFiles: -1}},
	} {
		if _, err := pool.New(c, nil); err == nil || err.Error() != want {
			t.Errorf("New gives %v, want %s", err, want)
		}
	}
}
