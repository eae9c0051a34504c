package wfformat

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/depth"
)

// Two values by hand: FNV-1a of "a" is 0xaf63dc4c8601ec8c, which leaves 711886180 modulo 2³¹−1.
func TestTaskValue(t *testing.T) {
	const fnv, prime = 0xaf63dc4c8601ec8c, 2147483647
	leaf := int64(uint64(fnv) % prime)
	if got := TaskValue("a", nil); got != leaf {
		t.Errorf("a leaf's value is %d, want %d", got, leaf)
	}
	one := (leaf*48271 + 5 + 1) % prime
	two := (one*48271 + 9 + 1) % prime
	if got := TaskValue("a", []int64{5, 9}); got != two {
		t.Errorf("with two parents it is %d, want %d", got, two)
	}
	for _, other := range [][]int64{nil, {5}, {9, 5}, {5, 9, 0}, {0, 5, 9}, {5, 10}} {
		if TaskValue("a", other) == two {
			t.Errorf("inputs %v give the same value as [5 9]", other)
		}
	}
}

func TestParseTask(t *testing.T) {
	got, err := ParseTask(json.RawMessage(`{"id":"a","seconds":1.5,"inputs":[5,9]}`))
	if err != nil || !cmp.Equal(got, TaskArgs{"a", 1.5, []int64{5, 9}}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got.Wait() != 1500*time.Millisecond || got.Value() != TaskValue("a", []int64{5, 9}) {
		t.Errorf("waits for %v, gives %d", got.Wait(), got.Value())
	}
	for args, want := range map[string]string{
		`{"id":"a","seconds":1}`:                       `task takes id, seconds and inputs; one of them is missing`,
		`{"id":"a","seconds":1,"inputs":null}`:         `task takes id, seconds and inputs; one of them is missing`,
		`{"id":"a","seconds":-1,"inputs":[]}`:          `task: seconds is -1, and must be between 0 and 1e+09`,
		`{"id":"a","seconds":2e9,"inputs":[]}`:         `task: seconds is 2e+09, and must be between 0 and 1e+09`,
		`{"id":"a","seconds":1,"inputs":[1,-1]}`:       `task: inputs[1] is -1, which is no task's value`,
		`{"id":"a","seconds":1,"inputs":[2147483647]}`: `task: inputs[0] is 2147483647, which is no task's value`,
		`{"id":"a","seconds":1,"inputs":[1.5]}`:        `task takes id, seconds and inputs (whole numbers): `,
		`{"id":"a","seconds":1,"inputs":[],"more":1}`:  `task takes id, seconds and inputs (whole numbers): `,
		`{"id":"a","seconds":1,"inputs":[]}{}`:         `task takes one object of arguments`,
		`[]`:                                           `task takes id, seconds and inputs (whole numbers): `,
	} {
		if _, err := ParseTask(json.RawMessage(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// A diamond and a separate task: a → b, a → c, b and c → d, and e alone.
func TestExpectedByHand(t *testing.T) {
	trace := &Trace{Name: "w", Tasks: []Task{
		{ID: "d", Name: "d", Parents: []int{1, 2}},
		{ID: "b", Name: "b", Parents: []int{3}},
		{ID: "c", Name: "c", Parents: []int{3}},
		{ID: "a", Name: "a"},
		{ID: "e", Name: "e"},
	}}
	a := TaskValue("a", nil)
	b, c := TaskValue("b", []int64{a}), TaskValue("c", []int64{a})
	want := fmt.Sprintf("[%d,%d]", TaskValue("d", []int64{b, c}), TaskValue("e", nil))
	if got := string(trace.Expected()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The result must change when any edge of any trace is removed.
func TestEveryEdgeCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(Shapes()).Draw(t, "shape")
		trace, err := Generate(shape, rapid.IntRange(8, 60).Draw(t, "tasks"), rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		before := string(trace.Expected())
		children := trace.children()
		var candidates []int
		for i := range trace.Tasks {
			if len(trace.Tasks[i].Parents) > 0 {
				candidates = append(candidates, i)
			}
		}
		if len(candidates) == 0 {
			t.Skip("no edges")
		}
		child := &trace.Tasks[rapid.SampledFrom(candidates).Draw(t, "child")]
		cut := rapid.IntRange(0, len(child.Parents)-1).Draw(t, "parent")
		parent := child.Parents[cut]
		child.Parents = append(child.Parents[:cut:cut], child.Parents[cut+1:]...)
		if len(children[parent]) == 1 {
			// The parent is now a sink, which alone would change the result: compare the values instead.
			if values := trace.Values(); values[parent] == 0 {
				t.Skip("a value of zero")
			}
		}
		if string(trace.Expected()) == before {
			t.Errorf("without the edge from %s to %s the result is the same", trace.Tasks[parent].ID, child.ID)
		}
	})
}

// Ids have any character, and run times are scaled.
func TestGraphArguments(t *testing.T) {
	ids := []string{"plain-1.x", "quote\" back\\slash", "new\nline\ttab", "é漢😀\u200b\ufffd", "\x00\x07\x7f", "{}%s\\u0041", "sum"}
	trace := &Trace{Name: "odd", Tasks: make([]Task, len(ids))}
	for i, id := range ids {
		trace.Tasks[i] = Task{ID: id, Name: "n", RuntimeSeconds: math.Pow(10, float64(3*i-9))}
	}
	g, err := trace.Graph(GraphOptions{TimeScale: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, n := range g.Nodes {
		if n.Kind != graph.Action {
			continue
		}
		args := map[string]json.RawMessage{}
		for _, a := range n.Args {
			args[a.Name] = evaluate(t, a.Value)
		}
		encoded, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		task, err := ParseTask(encoded)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if want := trace.Tasks[at]; task.ID != want.ID || task.Seconds != want.RuntimeSeconds/2 || len(task.Inputs) != 0 {
			t.Errorf("node %s is called with %+v for %+v", n.Name, task, want)
		}
		at++
	}
	if at != len(ids) {
		t.Errorf("%d actions, want %d", at, len(ids))
	}
}

func evaluate(t *testing.T, e *ir.Expr) json.RawMessage {
	t.Helper()
	compiled, err := expr.Compile(e, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := compiled.Eval(nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := expr.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGraphRefuses(t *testing.T) {
	trace := &Trace{Name: "w\n", Tasks: []Task{{ID: "a\n", Name: "a", RuntimeSeconds: 1000}}}
	for _, c := range []struct {
		opts GraphOptions
		want string
	}{
		{GraphOptions{TimeScale: -1}, `trace "w\n": the time scale -1 must be 0 or a positive number`},
		{GraphOptions{TimeScale: math.NaN()}, `trace "w\n": the time scale NaN must be 0 or a positive number`},
		{GraphOptions{TimeScale: math.Inf(1)}, `trace "w\n": the time scale +Inf must be 0 or a positive number`},
		{GraphOptions{TimeScale: 1e9}, `trace "w\n": task "a\n" would wait for 1e+12 seconds; lower the time scale 1e+09`},
	} {
		if _, err := trace.Graph(c.opts); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.opts, err, c.want)
		}
	}
	if _, err := trace.Graph(GraphOptions{Limits: ir.Limits{Nodes: 2}}); err == nil || !strings.Contains(err.Error(), "over the limit of 2") {
		t.Errorf("a limit on nodes that is given: %v", err)
	}
}

// The work must grow with the number of tasks, not its square, even for a join over all of them. A trace may have more tasks
// than a program may have nodes.
func TestGraphLarge(t *testing.T) {
	work := func(tasks int) float64 {
		trace, err := Generate(Scatter, tasks, 1)
		if err != nil {
			t.Fatal(err)
		}
		var g *graph.Graph
		allocations := testing.AllocsPerRun(1, func() { g, err = trace.Graph(GraphOptions{}) })
		if err != nil {
			t.Fatal(err)
		}
		join := g.Nodes[len(trace.Tasks)] // the input is node 0
		if join.Required != tasks-2 || len(g.In(join.ID)) != tasks-2 {
			t.Errorf("the join of %d tasks requires %d", tasks, join.Required)
		}
		return allocations
	}
	tasks := depth.Of(400, 2000)
	small, large := work(tasks), work(4*tasks)
	if large > 5*small {
		t.Errorf("4 times the tasks take %.1f times the allocations", large/small)
	}
	trace, err := Generate(Pipelines, 10_500, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Graph(GraphOptions{}); err != nil {
		t.Error(err)
	}
}
