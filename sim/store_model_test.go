package sim

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/scenarios"
	"pulley/scenarios/dist"
)

// tinyWorld is one of two actions in a row that has not begun.
func tinyWorld(t *testing.T) (*world, backend.Submission) {
	t.Helper()
	b := graph.New("tiny")
	first := b.Action("a", "noop")
	b.Output("b").After(b.Action("b", "noop").After(first))
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, g)
}

// callingOff is a world of two actions side by side, of which the first is cancelled when the second fails,
// and of a sleep behind them; it has not begun.
func cancelling(t *testing.T) (*world, backend.Submission) {
	t.Helper()
	tree, err := ir.Parse("test.ir", []byte(`
fn main(input: [], output: []):
    try:
        parallel:
            @a()
            @b()
    except:
        sleep 60
`), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return worldOf(t, g)
}

func worldOf(t *testing.T, g *graph.Graph) (*world, backend.Submission) {
	t.Helper()
	cfg := Config{
		Workload: scenarios.Workload{Graph: g, Input: json.RawMessage("{}")},
		Act: func(string, json.RawMessage, int) (json.RawMessage, *plan.Failure) {
			return json.RawMessage("null"), nil
		},
	}
	w, err := newWorld(cfg.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	return w, backend.Submission{ID: w.instances[0].id, Program: w.program, Input: cfg.Workload.Input}
}

// TestTheTwinSeesWhatAStoreMustNotDo tells the world of a store that breaks one invariant after the
// other.
func TestTheModelSeesWhatAStoreMustNotDo(t *testing.T) {
	type told struct {
		op    dispatch.Op
		runs  []string // completed, or leased where op is claim
		ends  bool
		fails bool // the completions
	}
	submit := told{op: dispatch.OpSubmit}
	complete := func(runs ...string) told { return told{op: dispatch.OpComplete, runs: runs} }
	fail := func(run string) told { return told{op: dispatch.OpComplete, runs: []string{run}, fails: true} }
	lease := func(runs ...string) told { return told{op: dispatch.OpClaim, runs: runs} }
	end := told{op: dispatch.OpComplete, ends: true}
	for name, c := range map[string]struct {
		want  string
		story []told
	}{
		"nothing":            {"", []told{submit, lease("a"), complete("a"), lease("b"), complete("b"), end}},
		"redelivered":        {"", []told{submit, lease("a"), lease("a"), complete("a")}},
		"taken twice":        {"I1: instance 0 was taken twice", []told{submit, submit}},
		"too early":          {"I1: instance 0: b was leased and never enqueued", []told{submit, lease("b")}},
		"from nowhere":       {"I1: ", []told{lease("a")}},
		"never enqueued":     {"I1: instance 0: b was applied and never enqueued", []told{submit, complete("b")}},
		"applied twice":      {"I3: instance 0: a was applied twice", []told{submit, complete("a", "a")}},
		"given out again":    {"I8: instance 0: a was leased again", []told{submit, complete("a"), lease("a")}},
		"ended too early":    {"I7: instance 0: the store ended it", []told{submit, complete("a"), end}},
		"ended twice":        {"I7: ", []told{submit, complete("a"), complete("b"), end, end}},
		"leased after end":   {"I10: ", []told{submit, complete("a"), complete("b"), end, lease("b")}},
		"applied after end":  {"I7: ", []told{submit, complete("a"), complete("b"), end, complete("b")}},
		"ended and not here": {"I7: ", []told{end}},
		"applied, not taken": {"I8: ", []told{complete("a")}},
		"off: cancelled":     {"", []told{submit, lease("a", "b"), fail("b")}},
		"off: leased":        {"I10: instance 0: a was leased after it was cancelled", []told{submit, fail("b"), lease("a")}},
		"off: applied":       {"I3: instance 0: a was applied after it was cancelled", []told{submit, fail("b"), complete("a")}},
		"off: not due":       {"I2: instance 0: sleep was leased before it was due", []told{submit, fail("b"), lease("sleep")}},
		"off: slept":         {"", []told{submit, fail("b"), complete("sleep"), end}},
	} {
		w, sub := tinyWorld(t)
		if strings.HasPrefix(name, "off: ") {
			w, sub = cancelling(t)
		}
		for _, s := range c.story {
			call, done := &dispatch.Call{Op: s.op}, backend.Committed{}
			if s.op == dispatch.OpSubmit {
				call.Submissions = []backend.Submission{sub}
				done.Outcomes = []backend.Outcome{{Answer: backend.Applied}}
			}
			for _, run := range s.runs {
				l := backend.Lease{Key: backend.Key{Instance: sub.ID, Run: graph.Run{Node: nodeOf(t, w, run)}}, Token: 1}
				if s.op == dispatch.OpClaim {
					done.Tasks = append(done.Tasks, backend.Task{Lease: l, Attempt: 1})
					continue
				}
				c := backend.Completion{Lease: l, Attempt: 1, Result: json.RawMessage("null")}
				if s.fails {
					c.Result, c.Failure = nil, &plan.Failure{Type: "Bad"}
				}
				call.Completions = append(call.Completions, c)
				done.Outcomes = append(done.Outcomes, backend.Outcome{Answer: backend.Applied})
			}
			if s.ends {
				done.Ended = []backend.Instance{{ID: sub.ID, Status: backend.Completed, Result: json.RawMessage("null")}}
			}
			w.observe(w.engines[0], "test", call, done)
		}
		got := strings.Join(w.result.Violations, "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: the violations are %q; want %q", name, got, c.want)
		}
	}
}

func nodeOf(t *testing.T, w *world, name string) graph.NodeID {
	t.Helper()
	for _, n := range w.program.Graph().Nodes {
		if n.Name == name {
			return n.ID
		}
	}
	t.Fatalf("there is no node %s", name)
	return 0
}

// TestPercentiles takes ranks from lists whose ranks are plain to see.
func TestPercentiles(t *testing.T) {
	var d []time.Duration
	for i := range 100 {
		d = append(d, time.Duration(100-i))
	}
	if got := percentiles(d); got != (Percentiles{Count: 100, Mean: got.Mean, P50: 50, P90: 90, P99: 99, Max: 100}) || got.Mean != 50 {
		t.Errorf("%+v", got)
	}
	if got := percentiles(d[99:]); got != (Percentiles{Count: 1, Mean: 1, P50: 1, P90: 1, P99: 1, Max: 1}) {
		t.Errorf("of one: %+v", got)
	}
	if got := percentiles(nil); got != (Percentiles{}) {
		t.Errorf("of none: %+v", got)
	}
}

// TestDistributions holds what is drawn against its bounds and its mean.
func TestDistributions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	var sum time.Duration
	seen := map[time.Duration]int{}
	for range n {
		v := dist.Uniform(3, 5)(r)
		if seen[v]++; v < 3 || v > 5 {
			t.Fatalf("uniform from 3 to 5 gave %d", v)
		}
		sum += dist.Exponential(time.Second)(r)
	}
	if len(seen) != 3 {
		t.Errorf("uniform from 3 to 5 gave only %v", seen)
	}
	if mean := sum / n; mean < 950*time.Millisecond || mean > 1050*time.Millisecond {
		t.Errorf("the mean of an exponential with mean 1 s is %v", mean)
	}
	if v := dist.Uniform(5, 3)(r); v != 5 {
		t.Errorf("uniform over nothing gave %d", v)
	}
	if v := dist.Exponential(1 << 62)(r); v < 0 || v > longest {
		t.Errorf("a long exponential overflowed to %v", v)
	}
}
