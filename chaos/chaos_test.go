package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/chaos/check"
	"pulley/chaos/fault"
)

// plantVariable names the bug that an engine's process plants in itself.
const plantVariable = "PULLEY_CHAOS_PLANT"

// TestMain makes this test binary an engine's process where it is started as one.
func TestMain(m *testing.M) {
	if os.Getenv(EngineVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := Engine(context.Background(), os.Stdin, os.Stdout, Hooks{Wrap: plants[os.Getenv(plantVariable)]}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shortCase is small enough to be run with the race detector in seconds.
func shortCase(backend string) Case {
	return Case{
		Workloads: []Workload{{Scenario: "fanout", Size: 6}, {Scenario: "chain", Size: 5}},
		Backend:   backend, Seed: 1, Engines: 2, InFlight: 3, LeaseMS: 1000, SweepMS: 200, CallMS: 800,
	}.WithDefaults()
}

// runCase runs a case on engines that are processes of this test binary, with more in their environment. The
// race detector's runtime waits for a second at the end of every process unless it is told not to.
func runCase(t *testing.T, c Case, environment ...string) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := slices.Concat([]string{"env", "GORACE=atexit_sleep_ms=0 halt_on_error=1"}, environment, []string{os.Args[0]})
	res, err := Run(ctx, c, Config{Command: command, Progress: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(res.Text())
	return res
}

// known are the invariants that a design is known to violate, with what is to be mended. An entry goes when it is.
var known = map[string]string{
	"journal": "I11", // who takes a shard over gives out node runs on which the last owner, or who had them of it, may still believe in a lease
}

// TestEveryKindOfFault has each kind of fault happen on one of the designs at least, and a lost reply to
// COMMIT on all of them.
func TestEveryKindOfFault(t *testing.T) {
	designs := []string{"push", "journal", "eager", "pull:scan=app"}
	for i, design := range designs {
		var kinds []fault.Kind
		for j, k := range fault.Kinds() {
			if j%len(designs) == i || k.Name == "wire.commit" {
				kinds = append(kinds, k)
			}
		}
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			c := shortCase(design)
			c.Seed = uint64(i + 1)
			c.Faults = c.Plan(kinds, 0)
			res := runCase(t, c)
			unknown := slices.DeleteFunc(res.Invariants(), func(i string) bool { return i == known[design] })
			if res.Verdict != Pass && (res.Verdict != Fail || len(unknown) > 0) {
				t.Errorf("the verdict is %s by %v, want pass", res.Verdict, unknown)
			}
			for _, k := range kinds {
				if res.Faults[k.Name] < 1 {
					t.Errorf("%s did not happen", k.Name)
				}
			}
		})
	}
}

// TestWhatDidNotHappenIsInconclusive has a fault whose moment never comes, and one without which nothing was
// asked for.
func TestWhatDidNotHappenIsInconclusive(t *testing.T) {
	c := shortCase("push")
	r := &run{Case: c, watch: newWatch(), result: newResult(c), find: func(string) (fault.Kind, error) {
		return fault.Kind{Name: "never", Inject: func(context.Context, fault.World, fault.Fault, func()) error {
			return fmt.Errorf("%w: not today", fault.ErrMissed)
		}}, nil
	}}
	r.recorder = check.NewRecorder(r, check.Recording{Source: ownSource})
	if r.result.conclude(); r.result.Verdict != Pass {
		t.Errorf("the verdict is %s before anything was asked for, want pass", r.result.Verdict)
	}
	r.Faults = []fault.Fault{{Kind: "never"}}
	if err := r.faults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.result.conclude(); r.result.Verdict != Inconclusive || r.result.Missed["never"] != triesMost || r.result.Total() != 0 {
		t.Errorf("the verdict is %s after %d tries and %d faults, want inconclusive", r.result.Verdict, r.result.Missed["never"], r.result.Total())
	}
}

// TestShrink has cases fail that hold two of the faults, and finds the smallest of them.
func TestShrink(t *testing.T) {
	c := shortCase("push")
	c.InFlight = 8
	for i := range 13 {
		c.Faults = append(c.Faults, fault.Fault{Kind: "wire.cut", K: i})
	}
	failing := func(c Case) *Result {
		res := newResult(c)
		has := func(k int) bool {
			return slices.ContainsFunc(c.Faults, func(f fault.Fault) bool { return f.K == k })
		}
		if has(3) && has(11) && c.InFlight > 1 {
			res.Violations = append(res.Violations, Violation{Invariant: "I3"})
		} else if has(5) { // something else: not what is looked for
			res.Violations = append(res.Violations, Violation{Invariant: "I7"})
		}
		res.conclude()
		return res
	}
	got := shrink(failing(c), failing).Case
	if len(got.Faults) != 2 || got.Faults[0].K != 3 || got.Faults[1].K != 11 || len(got.Workloads) != 1 || got.InFlight != 2 {
		t.Errorf("it shrank to %+v", got)
	}
	if none := shrink(failing(c), func(Case) *Result { return nil }).Case; len(none.Faults) != 13 {
		t.Errorf("without runs it shrank to %d faults", len(none.Faults))
	}
}

// TestACaseIsAFile saves a case and reads it again, and refuses one that is none.
func TestACaseIsAFile(t *testing.T) {
	c := shortCase("journal")
	c.Faults = c.Plan(fault.Kinds(), 10*time.Second)
	file := filepath.Join(t.TempDir(), "new", "case.json")
	if err := c.Save(file); err != nil {
		t.Fatal(err)
	}
	got, err := Load(file)
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("%+v, %v; want %+v", got, err, c)
	}
	for wrong, says := range map[*Case]string{
		{Backend: "memory", Workloads: c.Workloads}: "keeps nothing over a crash",
		{Backend: "push"}: "no workload",
		{Backend: "push", Workloads: []Workload{{Scenario: "diamond"}}}:                                 "without a program",
		{Backend: "push", Workloads: c.Workloads, Faults: []fault.Fault{{Kind: "wire.curt"}}}:           "there is no fault",
		{Backend: "push", Workloads: c.Workloads, Faults: []fault.Fault{{Kind: "wire.cut", Engine: 2}}}: "engine 2 of 2",
		{Backend: "push", Workloads: c.Workloads, Engines: 65, LeaseMS: 1}:                              "engines is 65",
	} {
		if err := wrong.WithDefaults().Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want an error that says %q", wrong, err, says)
		}
	}
}

// TestRecovery reads a made-up history: ten completions a second before a fault, none for two seconds, then
// the same rate.
func TestRecovery(t *testing.T) {
	var h check.History
	second := int64(time.Second)
	applied := func(at int64) {
		h = append(h, check.Event{Kind: check.Answered, Answer: check.AnswerApplied, AtNS: at, Instance: "i"})
	}
	for i := range int64(50) {
		applied(i * second / 10)
	}
	over := 5*second + second/2
	for i := range int64(50) {
		applied(over + 2*second + i*second/10)
	}
	h = append(h, check.Event{Kind: check.Ended, Status: check.Completed, AtNS: over + 7*second, Instance: "i"})
	got := recovery(h, []span{{begun: 5 * second, over: over}})
	want := func(what string, p Percentiles, ms float64) {
		if p.N != 1 || p.P50 != ms || p.Max != ms {
			t.Errorf("%s: %+v, want %v ms once", what, p, ms)
		}
	}
	want("first", got.First, 2000)
	want("rate", got.Rate, 2000)
	want("finished", got.Finished, 7000)
	if got.RateWas < 9.9 || got.RateWas > 10.1 {
		t.Errorf("the rate was %v, want 10", got.RateWas)
	}
}
