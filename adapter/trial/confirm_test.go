package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/chaos/fault"
)

// found is a result that violates rules, or keeps every promise.
func found(c Case, rules ...judge.Rule) *Result {
	r := newResult(c)
	r.Hello = &protocol.Hello{System: "a queue", SystemVersion: "1"}
	r.Verdict = &judge.Verdict{Result: judge.Keeps, Totals: map[judge.Rule]int{}}
	for _, rule := range rules {
		r.Verdict.Result, r.Verdict.Totals[rule] = judge.Breaks, 1
	}
	return r
}

func plan(kinds ...string) (faults []fault.Fault) {
	for _, k := range kinds {
		faults = append(faults, fault.Fault{Kind: k})
	}
	return faults
}

func kindsOf(c Case) (kinds []string) {
	for _, f := range c.Faults {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// TestConfirm repeats and shrinks cases of systems whose behaviour is known.
func TestConfirm(t *testing.T) {
	t.Parallel()
	rule := judge.Rules()[0].Rule
	all := plan("wire.cut", "process.kill", "wire.reset", "process.pause", "wire.slice")
	for name, c := range map[string]struct {
		run       func(n int, c Case) *Result // the n-th run, from 1
		outcome   judge.Result
		confirmed int
		repeats   int
		smallest  []string
	}{
		"keeps": {func(_ int, c Case) *Result { return found(c) }, judge.Keeps, 0, 0, nil},
		"once": {func(n int, c Case) *Result {
			if n == 1 {
				return found(c, rule)
			}
			return found(c)
		}, judge.Inconclusive, 0, repeatsMax, kindsOf(Case{Faults: all})},
		"another rule": {func(n int, c Case) *Result { return found(c, judge.Rules()[min(n, 2)-1].Rule) }, judge.Inconclusive, 0, repeatsMax, kindsOf(Case{Faults: all})},
		"two faults": {func(_ int, c Case) *Result {
			if kinds := kindsOf(c); slices.Contains(kinds, "process.kill") && slices.Contains(kinds, "process.pause") {
				return found(c, rule)
			}
			return found(c)
		}, judge.Breaks, 1, 1, []string{"process.kill", "process.pause"}},
		"always": {func(_ int, c Case) *Result { return found(c, rule) }, judge.Breaks, 1, 1, nil},
	} {
		n := 0
		f, err := confirm(t.Context(), Case{Faults: all, LastMS: 1000}, time.Minute, func(string, ...any) {}, func(_ context.Context, smaller Case) (*Result, error) {
			n++
			return c.run(n, smaller), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if f.Outcome() != c.outcome || f.Confirmed != c.confirmed || f.Repeats != c.repeats {
			t.Errorf("%s: %s, %d of %d", name, f.Outcome(), f.Confirmed, f.Repeats)
		}
		if c.outcome == judge.Keeps {
			if f.Smallest != nil {
				t.Errorf("%s: there is a smallest case", name)
			}
			continue
		}
		if got := kindsOf(f.Smallest.Case); !slices.Equal(got, c.smallest) {
			t.Errorf("%s: the smallest case has %q, not %q", name, got, c.smallest)
		}
		if f.Text() == "" {
			t.Errorf("%s: no text", name)
		}
	}
	drawn := func(_ context.Context, c Case) (*Result, error) {
		if c.Kinds != nil {
			c = Case{Faults: all}
		}
		return found(c, rule), nil
	}
	f, err := confirm(t.Context(), Case{Kinds: []string{"wire.cut"}}, 0, func(string, ...any) {}, drawn)
	if err != nil || f.Confirmed != 1 || !slices.Equal(kindsOf(f.Smallest.Case), kindsOf(Case{Faults: all})) {
		t.Errorf("the plan that the first run drew is not repeated: %+v, %v", f, err)
	}
	broken := errors.New("no server")
	if _, err := confirm(t.Context(), Case{}, time.Minute, func(string, ...any) {}, func(context.Context, Case) (*Result, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestConfirmIsInterrupted checks that what was found until the context ended is returned with its error.
func TestConfirmIsInterrupted(t *testing.T) {
	t.Parallel()
	rule, because := judge.Rules()[0].Rule, errors.New("because")
	all := plan("wire.cut", "process.kill", "wire.reset", "process.pause")
	for last, want := range map[int]struct { // the run during which the context ends
		repeats, confirmed int
		left               int // faults
		says               string
	}{
		1: {}, // there is no finding
		2: {0, 0, 4, "The violation did not come again in 0 repetitions, and the next was interrupted"},
		3: {1, 1, 4, "The search for a smaller case was interrupted. What follows is the smallest one until then, with 4 of 4 faults."},
		5: {1, 1, 2, "The search for a smaller case was interrupted. What follows is the smallest one until then, with 2 of 4 faults."},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		n := 0
		f, err := confirm(ctx, Case{Faults: all, LastMS: 1000}, time.Minute, func(string, ...any) {}, func(ctx context.Context, c Case) (*Result, error) {
			if n++; n == last {
				cancel(because)
				return nil, context.Cause(ctx)
			}
			if kinds := kindsOf(c); !slices.Contains(kinds, "process.pause") {
				return found(c), nil
			}
			return found(c, rule), nil
		})
		if !errors.Is(err, because) || n != last {
			t.Errorf("run %d is interrupted: %v after %d runs", last, err, n)
		}
		if last == 1 {
			if f != nil {
				t.Errorf("without a result there is the finding %+v", f)
			}
			continue
		}
		if f == nil || !f.Interrupted || f.Repeats != want.repeats || f.Confirmed != want.confirmed || len(f.Smallest.Case.Faults) != want.left || f.First.Outcome() != judge.Breaks {
			t.Fatalf("run %d is interrupted: %+v", last, f)
		}
		if got := f.Text(); !strings.Contains(got, want.says) {
			t.Errorf("run %d is interrupted, and the text is %s", last, got)
		}
	}
}

func TestCaseIsRefused(t *testing.T) {
	t.Parallel()
	one := []protocol.Workload{{Name: "one", Tasks: []protocol.Task{{Name: "a"}}, Result: "a"}}
	for want, c := range map[string]Case{
		"there is no adapter; name its program":                                            {Workloads: one},
		"there is no workload; name one":                                                   {Command: []string{"x"}},
		"the number of slots is 1001; choose from 1 to 1000":                               {Command: []string{"x"}, Workloads: one, Slots: 1001},
		"fault process.edge needs the help of the process, which an adapter does not give": {Command: []string{"x"}, Workloads: one, Faults: plan("process.edge")},
		"the case has faults, and kinds to draw some from; leave one out":                  {Command: []string{"x"}, Workloads: one, Faults: plan("wire.cut"), Kinds: []string{"wire.cut"}},
		`there is no fault "wire.curt", did you mean "wire.cut"?`:                          {Command: []string{"x"}, Workloads: one, Kinds: []string{"wire.curt"}},
		"fault wire.cut hits process 3 of 3":                                               {Command: []string{"x"}, Workloads: one, Faults: []fault.Fault{{Kind: "wire.cut", Engine: 3}}},
		`workload "one": the result is that of a task "b", which is not there`:             {Command: []string{"x"}, Workloads: []protocol.Workload{{Name: "one", Tasks: one[0].Tasks, Result: "b"}}},
	} {
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
	if err := (Case{Command: []string{"x"}, Workloads: one, Faults: Draw(1, Kinds(), 3, time.Minute, time.Second)}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestDraw checks that a plan has every kind, begins with those that show most, and is the same for a seed.
func TestDraw(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		plan := Draw(seed, Kinds(), 3, 20*time.Second, time.Second)
		kinds := kindsOf(Case{Faults: plan})
		if front := slices.Sorted(slices.Values(kinds[:len(telling)])); !slices.Equal(front, slices.Sorted(slices.Values(telling))) {
			t.Errorf("seed %d: the plan begins with %q", seed, front)
		}
		for _, k := range Kinds() {
			if !slices.Contains(kinds, k.Name) {
				t.Errorf("seed %d: the plan has no %s", seed, k.Name)
			}
		}
		if !slices.Equal(kinds, kindsOf(Case{Faults: Draw(seed, Kinds(), 3, 20*time.Second, time.Second)})) {
			t.Errorf("seed %d: another plan comes the second time", seed)
		}
	}
	if plan := Draw(1, nil, 3, time.Minute, time.Second); len(plan) > 0 {
		t.Errorf("the plan without kinds has %d", len(plan))
	}
}

// TestTable has a system that is as fast after the faults as before, one that does nothing any more, and one that was not measured.
func TestTable(t *testing.T) {
	t.Parallel()
	one := func(system, name string, faults map[string]int, before, after *Quiet) *Finding {
		r := found(Case{})
		r.Hello.System, r.Hello.Name, r.Faults, r.Before, r.After = system, name, faults, before, after
		return &Finding{First: r}
	}
	quiet := &Quiet{LastedMS: 1000, Tasks: 500, TasksPerS: 500, WritesPerTask: 1.25, WALBytesPerTask: 2100, ServerUSPerTask: 80, ProcessUSPerTask: 45.4}
	got := Table([]*Finding{
		one("A queue", "a", map[string]int{"wire.cut": 3}, quiet, quiet), one("Another", "b", map[string]int{"process.kill": 2}, quiet, &Quiet{LastedMS: 1000}), one("Third", "c", nil, nil, nil),
	})
	want := `  system   promise  verdict  instances  lost  executions  repeated  continues p50  p99
  A queue           keeps            0     0           0         0              –    –
  Another           keeps            0     0           0         0              –    –
  Third             keeps            0     0           0         0              –    –

Without faults, before them and after:
  system   tasks/s  after  writes/task  after  WAL kB/task  after  server µs/task  after  processes µs/task  after
  A queue      500    500         1.25   1.25         2.10   2.10              80     80                 45     45
  Another      500      0         1.25      –         2.10      –              80      –                 45      –
  Third          –      –            –      –            –      –               –      –                  –      –

Faults that happened:
  fault         a  b  c
  process.kill  0  2  0
  wire.cut      3  0  0
`
	if got != want {
		t.Errorf("%s", got)
	}
	if got := Table([]*Finding{one("Third", "c", nil, nil, nil)}); strings.Count(got, "\n") != 2 {
		t.Errorf("tables of nothing: %s", got)
	}
}
