package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/fault/inject"
	"pulley/chaos/process"
	"pulley/chaos/world"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/reference"
	"pulley/internal/depth"
)

// plantVariable names the bug that an engine's process plants in itself.
const plantVariable = "PULLEY_CHAOS_PLANT"

// untilInterrupted ends when the tests are interrupted; every run then cleans up and fails its test.
var untilInterrupted context.Context

// TestMain makes this test binary an engine's process if it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(process.EngineVariable) == "" {
		var stop context.CancelFunc
		untilInterrupted, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
		return
	}
	if err := process.Engine(context.Background(), os.Stdin, os.Stdout, process.Hooks{Wrap: plants[os.Getenv(plantVariable)]}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shortCase takes only seconds, even with the race detector.
func shortCase(backend string) cases.Case {
	return cases.Case{
		Workloads: []cases.Workload{{Scenario: "fanout", Size: 6}, {Scenario: "chain", Size: 5}, {Scenario: "retry_in_spread"}},
		Backend:   backend, Seed: 1, Engines: 2, InFlight: 3, Cancel: 7, LeaseMS: 1000, SweepMS: 200, CallMS: 800,
	}.WithDefaults()
}

// runsWithin bounds a run on a busy machine.
const runsWithin = 10 * time.Minute

// easy reduces a case's load before each change, when many tests run concurrently. At night the load is as much as the engines
// can do, with shorter calls.
func easy(c cases.Case) cases.Case {
	if !depth.Night() {
		c.RatePerS, c.InFlight, c.CallMS = 6, 6, 1500
	}
	return c
}

// runCase runs a case on engines that are processes of this test binary, with additional environment. The race detector's runtime
// would wait for a second at the end of every process.
func runCase(t *testing.T, c cases.Case, environment ...string) *Result {
	t.Helper()
	return runUntil(t, c, nil, environment...)
}

// runUntil is runCase for exhaustive faults: until enough accepts their coverage. Nil: until they have reached every message.
func runUntil(t *testing.T, c cases.Case, enough func(fault.Coverage) bool, environment ...string) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(untilInterrupted, runsWithin, fmt.Errorf("the run of the case was not over within %v", runsWithin))
	defer cancel()
	command := slices.Concat([]string{"env", "GORACE=atexit_sleep_ms=0 halt_on_error=1"}, environment, []string{os.Args[0]})
	res, err := Run(ctx, c, Config{Command: command, Progress: func(line string) { t.Log(line) }, covered: enough})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(res.Text())
	return res
}

// TestLostReplies checks how commits are counted by how the engine resolved them.
func TestLostReplies(t *testing.T) {
	answered := func(call int64, instance string, a oracle.Answer) oracle.Event {
		return oracle.Event{Kind: oracle.Answered, Source: "e", Call: call, Instance: instance, Answer: a}
	}
	h := oracle.History{answered(1, "a", oracle.AnswerApplied), answered(2, "b", oracle.AnswerUnknown), answered(3, "c", oracle.AnswerApplied)}
	lost := []fault.ConnUse{{Source: "e", Call: 1}, {Source: "e", Call: 2}, {Source: "e", Call: 4}, {Source: "e"}}
	got := lostReplies(lost, h, map[string]bool{"b": true, "c": true})
	if want := (LostReplies{Commits: 4, AtOnce: 1, Resolved: 1, NoAnswer: 1, Background: 1, Wrong: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestWhatDidNotHappenIsInconclusive checks a fault whose moment never comes, and a missing one.
func TestWhatDidNotHappenIsInconclusive(t *testing.T) {
	c := shortCase("push")
	r := &run{Case: c, watch: newWatch(), ledger: fault.NewLedger(), result: newResult(c), find: func(string) (fault.Kind, error) {
		return fault.Kind{Name: "never", Inject: func(context.Context, fault.World, fault.Fault, func()) error {
			return fmt.Errorf("%w: not today", fault.ErrMissed)
		}}, nil
	}}
	r.recorder = oracle.NewRecorder(r, oracle.Recording{Source: ownSource})
	if r.result.conclude(); r.result.Verdict != Pass {
		t.Errorf("the verdict is %s before anything was asked for, want pass", r.result.Verdict)
	}
	r.Faults = []fault.Fault{{Kind: "never"}}
	if err := r.faults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.result.conclude(); r.result.Verdict != Inconclusive || r.result.Missed["never"] != inject.TriesMax || r.result.Total() != 0 {
		t.Errorf("the verdict is %s after %d tries and %d faults, want inconclusive", r.result.Verdict, r.result.Missed["never"], r.result.Total())
	}
}

// TestMissedFaultsAreTriedSooner checks that a fault at the K-th of something is retried at half of K, and any other unchanged.
func TestMissedFaultsAreTriedSooner(t *testing.T) {
	for nth, want := range map[bool][]int{true: {40, 20, 10, 5, 2, 1, 1, 1}, false: slices.Repeat([]int{40}, inject.TriesMax)} {
		var tried []int
		r := &run{watch: newWatch(), ledger: fault.NewLedger(), find: func(string) (fault.Kind, error) {
			return fault.Kind{Name: "never", Nth: nth, Inject: func(_ context.Context, _ fault.World, f fault.Fault, _ func()) error {
				tried = append(tried, f.K)
				return fault.ErrMissed
			}}, nil
		}}
		r.Case.Faults = []fault.Fault{{Kind: "never", K: 40}}
		r.result = newResult(r.Case)
		r.recorder = oracle.NewRecorder(r, oracle.Recording{Source: ownSource})
		if err := r.faults(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(tried, want) {
			t.Errorf("tried with K of %v, want %v", tried, want)
		}
	}
}

// TestMissedFaultsOnASlowMachine has a fault that happens only once its time is four times as long. It checks that the times are
// doubled until then if the machine is slow. Otherwise, and if four times is not enough, the run must be inconclusive.
func TestMissedFaultsOnASlowMachine(t *testing.T) {
	for _, c := range []struct {
		slow  bool
		needs int
		tries int
		want  Verdict
		spans int // of that fault, and of each restart with longer times, which ends every engine, too
	}{{true, 400, 2*inject.TriesMax + 1, Pass, 3}, {false, 400, inject.TriesMax, Inconclusive, 0}, {true, 1 << 20, (growthsMax + 1) * inject.TriesMax, Inconclusive, growthsMax}} {
		tries := 0
		r := &run{watch: newWatch(), ledger: fault.NewLedger(), world: &world.World{}, load: &load{}}
		r.find = func(string) (fault.Kind, error) {
			return fault.Kind{Name: "slow", Inject: func(_ context.Context, _ fault.World, f fault.Fault, over func()) error {
				if tries++; f.HoldMS >= c.needs {
					over()
					return nil
				}
				if now := oracle.MachineClock(); c.slow {
					r.stalls.Add(now-1_000_000, now+1_000_000_000)
				}
				return fault.ErrMissed
			}}, nil
		}
		r.Case.Faults = []fault.Fault{{Kind: "slow", HoldMS: 100}}
		r.result = newResult(r.Case)
		r.recorder = oracle.NewRecorder(r, oracle.Recording{Source: ownSource})
		if err := r.faults(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r.result.conclude(); r.result.Verdict != c.want || tries != c.tries || len(r.spans) != c.spans {
			t.Errorf("%+v: %s after %d tries, with %d spans", c, r.result.Verdict, tries, len(r.spans))
		}
	}
}

// TestCanceledAreCounted checks that instances are counted once by how they ended, whatever process read it, and that a run
// without a cancelled one is doubted.
func TestCanceledAreCounted(t *testing.T) {
	looked := func(source, instance string, s reference.Status) oracle.Event {
		return oracle.Event{Kind: oracle.LookedUp, Source: source, Instance: instance, Status: s}
	}
	for want, h := range map[int]oracle.History{
		0: {looked("engine 0.1", "a", oracle.Running), looked(ownSource, "b", reference.Completed)},
		2: {looked(ownSource, "a", reference.Canceled), looked("engine 0.1", "b", reference.Canceled), looked(ownSource, "b", reference.Canceled)},
	} {
		c := shortCase("push")
		r := &run{Case: c, result: newResult(c)}
		if r.missing(h); r.result.Canceled != want || len(r.result.Why) > 0 != (want == 0) {
			t.Errorf("%d were canceled and %q is missing, want %d", r.result.Canceled, r.result.Why, want)
		}
	}
}

// TestFaultsThatGoWrong checks that after a fault that fails itself there is no other, and that the run continues to its end and
// is inconclusive.
func TestFaultsThatGoWrong(t *testing.T) {
	c, faulted := shortCase("push"), 0
	r := &run{Case: c, watch: newWatch(), ledger: fault.NewLedger(), result: newResult(c), find: func(string) (fault.Kind, error) {
		return fault.Kind{Name: "wrong", Inject: func(context.Context, fault.World, fault.Fault, func()) error {
			faulted++
			return errors.New("no disk")
		}}, nil
	}}
	r.recorder = oracle.NewRecorder(r, oracle.Recording{Source: ownSource})
	r.Faults = []fault.Fault{{Kind: "wrong"}, {Kind: "wrong"}}
	if err := r.faults(t.Context()); err != nil || faulted != 1 || !r.broken {
		t.Errorf("%d faults struck, broken %v, error %v; want one, true and none", faulted, r.broken, err)
	}
	stuck := []Violation{{Invariant: "I9"}, {Invariant: "queue"}}
	for lived, want := range map[bool]Verdict{false: Inconclusive, true: Fail} {
		r.isLive, r.result.Violations = lived, slices.Clone(stuck)
		r.excuseUnended()
		if r.result.conclude(); r.result.Verdict != want || !strings.Contains(r.result.Why[0], "no disk") {
			t.Errorf("lived %v: the verdict is %s by %v", lived, r.result.Verdict, r.result.Why)
		}
	}
	r.broken, r.isLive, r.result.Violations = false, false, stuck
	if r.excuseUnended(); len(r.result.Violations) != 2 {
		t.Error("what is stuck in a sound run is excused")
	}
}

// TestShrink has cases fail that have two of the faults, and checks that the smallest is found.
func TestShrink(t *testing.T) {
	c := shortCase("push")
	c.InFlight = 8
	for i := range 13 {
		c.Faults = append(c.Faults, fault.Fault{Kind: "wire.cut", K: i})
	}
	failing := func(c cases.Case) *Result {
		res := newResult(c)
		has := func(k int) bool {
			return slices.ContainsFunc(c.Faults, func(f fault.Fault) bool { return f.K == k })
		}
		if has(3) && has(11) && c.InFlight > 1 {
			res.Violations = append(res.Violations, Violation{Invariant: "I3"})
		} else if has(5) { // another violation, which does not count
			res.Violations = append(res.Violations, Violation{Invariant: "I7"})
		}
		res.conclude()
		return res
	}
	got := shrink(failing(c), failing).Case
	if len(got.Faults) != 2 || got.Faults[0].K != 3 || got.Faults[1].K != 11 || len(got.Workloads) != 1 || got.InFlight != 2 {
		t.Errorf("it shrank to %+v", got)
	}
	if none := shrink(failing(c), func(cases.Case) *Result { return nil }).Case; len(none.Faults) != 13 {
		t.Errorf("without runs it shrank to %d faults", len(none.Faults))
	}
}

// TestACaseIsAFile checks that a case can be saved and read, and that an invalid one is refused.
func TestACaseIsAFile(t *testing.T) {
	c := shortCase("journal")
	c.Faults = c.Plan(fault.Kinds(), 10*time.Second)
	file := filepath.Join(t.TempDir(), "new", "case.json")
	if err := c.Save(file); err != nil {
		t.Fatal(err)
	}
	got, err := cases.Load(file)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%+v, %v; want %+v", got, err, c)
	}
	for wrong, says := range map[*cases.Case]string{
		{Backend: "memory", Workloads: c.Workloads}: "keeps nothing over a crash",
		{Backend: "push"}: "no workload",
		{Backend: "push", Workloads: c.Workloads, Hosts: "dokcer"}:                                      `"docker"`,
		{Backend: "push", Workloads: []cases.Workload{{Scenario: "diamond"}}}:                           "without a program",
		{Backend: "push", Workloads: c.Workloads, Faults: []fault.Fault{{Kind: "wire.curt"}}}:           "there is no fault",
		{Backend: "push", Workloads: c.Workloads, Faults: []fault.Fault{{Kind: "wire.cut", Engine: 2}}}: "engine 2 of 2",
		{Backend: "push", Workloads: c.Workloads, Engines: 65, LeaseMS: 1}:                              "engines is 65",
	} {
		if err := wrong.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want an error that says %q", wrong, err, says)
		}
	}
}

// TestContention counts the joins of a made-up history: one has completions from two engines, one from two incarnations of an
// engine.
func TestContention(t *testing.T) {
	built, err := cases.Case{Workloads: []cases.Workload{{Scenario: "fanout", Size: 6}}}.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	g := built.Workloads[0].Graph
	var h oracle.History
	for instance, sources := range map[string][]string{"a": {"engine 0.1", "engine 1.1"}, "b": {"engine 0.1", "engine 0.2"}} {
		for i := range 4 {
			h = append(h, oracle.Event{
				Kind: oracle.Answered, Answer: oracle.AnswerApplied, Source: sources[i%2], Instance: instance, Node: "double", Path: strconv.Itoa(i),
			})
		}
	}
	if got := contention(h, func(string) *graph.Graph { return g }); got != (Joins{All: 2, Contended: 1}) {
		t.Errorf("%+v, want 2 joins, one of them contended", got)
	}
}

// TestPace checks how many instances are due: at a rate with a bound of open ones, and without a rate.
func TestPace(t *testing.T) {
	begin := time.Unix(0, 0)
	p := pace{most: 5, perS: 10, since: begin}
	for _, c := range []struct {
		after      time.Duration
		open, want int
	}{{0, 0, 0}, {99 * time.Millisecond, 0, 0}, {100 * time.Millisecond, 0, 1}, {350 * time.Millisecond, 1, 2}, {2 * time.Second, 3, 2}, {2 * time.Second, 5, 0}} {
		got := p.due(c.open, begin.Add(c.after))
		if p.begun += got; got != c.want {
			t.Errorf("%d are due after %v with %d open, want %d", got, c.after, c.open, c.want)
		}
	}
	if got := p.next(begin.Add(550 * time.Millisecond)); got != 50*time.Millisecond {
		t.Errorf("the next is due in %v, want 50 ms", got)
	}
	if p = (pace{most: 5}); p.due(3, begin) != 2 {
		t.Error("without a rate, what has ended is not replaced at once")
	}
}
