package workload_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

// checkGraph checks what holds for every graph: it is valid, which includes the order of its tasks; it has a task for each node
// run; every task leads to the result; and no task can be left out or counted twice without a change of the sum.
func checkGraph(t *testing.T, g *workload.Graph, nodes int) {
	t.Helper()
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	if g.Joined {
		nodes++
	}
	if got := g.Executions(); got != nodes {
		t.Errorf("%d tasks, want %d", got, nodes)
	}
	leads := map[string]bool{g.Result: true}
	for i := len(g.Tasks) - 1; i >= 0; i-- {
		task := &g.Tasks[i]
		if !leads[task.Name] {
			t.Errorf("task %s does not lead to the result", task.Name)
		}
		for _, need := range task.Needs {
			leads[need] = true
		}
	}
	right := g.Sum()
	for i := range g.Tasks[:min(len(g.Tasks), 200)] {
		add := g.Tasks[i].Add
		for _, wrong := range []int64{0, 2 * add % protocol.Modulus} {
			g.Tasks[i].Add = wrong
			if g.Sum() == right {
				t.Errorf("the sum does not change if task %s counts %d instead of %d", g.Tasks[i].Name, wrong, add)
			}
		}
		g.Tasks[i].Add = add
	}
}

// TestScenarios unfolds every shipped scenario in its smallest size.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios.Library() {
		t.Run(s.Name, func(t *testing.T) {
			m, err := s.Mix(s.Sizes(scenarios.Options{})[0], scenarios.Options{Seed: 1, TimeScale: 0.01})
			if err != nil {
				t.Fatal(err)
			}
			got, err := workload.OfMix(m, workload.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for i, g := range got.Graphs {
				checkGraph(t, g, m.Workloads[i].Nodes)
				if names[g.Name] {
					t.Errorf("two graphs are named %s", g.Name)
				}
				names[g.Name] = true
			}
			for i := range 2 * len(m.Order) {
				if got.Of(i).Executions() < m.Of(i).Nodes {
					t.Errorf("instance %d runs another workload", i)
				}
			}
			t.Log(got.Graphs[0])
		})
	}
}

// traceFiles returns the recorded traces next to the project, or those in PULLEY_WFINSTANCES.
func traceFiles(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("PULLEY_WFINSTANCES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "wfinstances")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("PULLEY_WFINSTANCES") != "" && len(files) == 0 {
		t.Fatalf("PULLEY_WFINSTANCES is %s, where there is no *.json", dir)
	}
	return files
}

// TestTraces compares the graphs of traces with their tasks: recorded ones if there are any, and generated ones.
func TestTraces(t *testing.T) {
	var traces []*wfformat.Trace
	for _, file := range traceFiles(t) {
		trace, err := wfformat.ReadFile(file, wfformat.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	t.Logf("%d recorded traces", len(traces))
	for _, shape := range wfformat.Shapes() {
		trace, err := wfformat.Generate(shape, 60, 1)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	s, err := scenarios.Find("trace")
	if err != nil {
		t.Fatal(err)
	}
	for _, trace := range traces {
		t.Run(trace.Label(), func(t *testing.T) {
			w, err := s.Build(0, scenarios.Options{Trace: trace, TimeScale: 0.01})
			if err != nil {
				t.Fatal(err)
			}
			g, err := workload.Of(&w, workload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			checkGraph(t, g, len(trace.Tasks))
			compareWithTrace(t, g, trace)
		})
	}
}

func compareWithTrace(t *testing.T, g *workload.Graph, trace *wfformat.Trace) {
	t.Helper()
	name := func(i int) string { return "t" + strconv.Itoa(i+1) }
	for i, task := range trace.Tasks {
		var parents []string
		for _, p := range task.Parents {
			parents = append(parents, name(p))
		}
		slices.Sort(parents)
		got := g.Task(name(i))
		if got == nil {
			t.Fatalf("there is no task %s", name(i))
		}
		if needs := slices.Sorted(slices.Values(got.Needs)); !slices.Equal(needs, parents) {
			t.Errorf("task %s needs %v, want %v", got.Name, needs, parents)
		}
		if want := task.RuntimeSeconds * 10; got.MS < want-0.001 || got.MS > want+0.001 {
			t.Errorf("task %s takes %v ms, want %v", got.Name, got.MS, want)
		}
	}
	if g.Joined != (len(trace.Sinks()) > 1) {
		t.Errorf("a last task was added: %v; there are %d sinks", g.Joined, len(trace.Sinks()))
	}
}

// program makes a workload of a program's text, with an input.
func program(t *testing.T, text, input string) *scenarios.Workload {
	t.Helper()
	g, err := graph.CompileText("test.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return &scenarios.Workload{Name: "test", Graph: g, Source: text, Input: json.RawMessage(input)}
}

// needs prints a graph: a line for each task with what it needs.
func needs(g *workload.Graph) string {
	var lines []string
	for _, task := range g.Tasks {
		lines = append(lines, strings.TrimSpace(task.Name+" < "+strings.Join(task.Needs, " ")))
	}
	return strings.Join(lines, "\n")
}

func compare(t *testing.T, g *workload.Graph, want string) {
	t.Helper()
	if got := needs(g); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func build(t *testing.T, name string, size int) *scenarios.Workload {
	t.Helper()
	s, err := scenarios.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(size, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &w
}

func unfold(t *testing.T, w *scenarios.Workload, opts workload.Options) *workload.Graph {
	t.Helper()
	g, err := workload.Of(w, opts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestShapes compares the graphs of small workflows with what they must be.
func TestShapes(t *testing.T) {
	t.Run("diamond of four", func(t *testing.T) {
		b := graph.New("four")
		top := b.Action("top", "noop")
		left, right := b.Action("left", "noop").After(top), b.Action("right", "noop").After(top)
		bottom := b.Action("bottom", "noop").After(left, right)
		b.Output("bottom").After(bottom)
		built, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		g := unfold(t, &scenarios.Workload{Name: "four", Graph: built, Input: json.RawMessage("{}")}, workload.Options{})
		compare(t, g, "top <\nleft < top\nright < top\nbottom < left right")
		if g.Result != "bottom" || g.Joined {
			t.Errorf("the result is %s", g.Result)
		}
	})
	t.Run("fan-out of three", func(t *testing.T) {
		compare(t, unfold(t, build(t, "fanout", 5), workload.Options{}),
			"items <\ndouble[0] < items\ndouble[1] < items\ndouble[2] < items\nsum < double[0] double[1] double[2]")
	})
	t.Run("pipeline", func(t *testing.T) {
		s, err := scenarios.Find("pipeline")
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Build(2, scenarios.Options{Set: map[string]string{"iterations": "2"}})
		if err != nil {
			t.Fatal(err)
		}
		compare(t, unfold(t, &w, workload.Options{}), `fetch_items <
process_item[0] < fetch_items
process_item[1] < fetch_items
validate_chunk[0] < process_item[0] process_item[1]
aggregate_chunk[0] < validate_chunk[0]
validate_chunk[1] < aggregate_chunk[0]
aggregate_chunk[1] < validate_chunk[1]
finalize < aggregate_chunk[1]`)
	})
	t.Run("soft group", func(t *testing.T) {
		g := unfold(t, build(t, "diamond", 1), workload.Options{})
		if gate := g.Task("gate1"); gate == nil || !slices.Equal(gate.Needs, []string{"arm1_1"}) {
			t.Errorf("the gate is %+v", gate)
		}
		if len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "gate1: a soft group") {
			t.Errorf("the notes are %q", g.Notes)
		}
	})
	t.Run("limited spread", func(t *testing.T) {
		g := unfold(t, program(t, `
fn main(input: [], output: [xs]):
    n = @items(count=3)
    xs = spread n:i limit 1 -> @double(value=i)
    return xs
`, "{}"), workload.Options{})
		compare(t, g, "items <\ndouble[0] < items\ndouble[1] < items\ndouble[2] < items\nresult < double[0] double[1] double[2]")
		if !g.Joined || len(g.Notes) != 1 || !strings.Contains(g.Notes[0], "limit") {
			t.Errorf("%v", g)
		}
	})
}

// TestRounds checks that a loop becomes a repeated graph which, unrolled, is the unfolded one.
func TestRounds(t *testing.T) {
	w := build(t, "loop", 8)
	g := unfold(t, w, workload.Options{Repeat: true})
	if g.Repeat != 8 || len(g.Tasks) != 3 {
		t.Fatalf("%s has %d tasks and %d rounds", g, len(g.Tasks), g.Repeat)
	}
	checkGraph(t, g, w.Nodes)
	rolled, flat := g.Unroll(), unfold(t, w, workload.Options{})
	if flat.Repeat != 0 {
		t.Errorf("it was not asked for, and there are %d rounds", flat.Repeat)
	}
	for i, task := range flat.Tasks {
		if len(task.Needs) != len(rolled.Tasks[i].Needs) || i > 0 && rolled.Tasks[i].Needs[0] != rolled.Tasks[i-1].Name {
			t.Errorf("task %d is %+v, and %+v unrolled", i, task, rolled.Tasks[i])
		}
	}
	for _, other := range []string{"chain", "pipeline", "spread", "fanout"} {
		if g := unfold(t, build(t, other, 10), workload.Options{Repeat: true}); g.Repeat != 0 {
			t.Errorf("%s has %d rounds", other, g.Repeat)
		}
	}
}

// TestBehaviour checks that times, payloads and failures are those of the scenario.
func TestBehaviour(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("p.ir", `
fn main(input: [], output: [x]):
    x = @work(n=1)
    y = @flaky(times=2) [retry: 3]
    z = @sleep(ms=2.5)
    return x
`)
	write("p.yaml", "about: times\nprogram: p.ir\nactions:\n  work: {service: 3ms, payload: 300B}\n")
	s, err := scenarios.Find(filepath.Join(dir, "p.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(s.DefaultSizes[0], scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := unfold(t, &w, workload.Options{})
	for i, want := range []protocol.Task{
		{Name: "work", MS: 3, Bytes: 300},
		{Name: "flaky", Needs: []string{"work"}, Fails: 2},
		{Name: "sleep", Needs: []string{"flaky"}, MS: 2.5},
	} {
		got := g.Tasks[i]
		if got.Add == 0 || got.Name != want.Name || got.MS != want.MS || got.Bytes != want.Bytes || got.Fails != want.Fails {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	again := unfold(t, &w, workload.Options{})
	if needs(g) != needs(again) || g.Sum() != again.Sum() {
		t.Error("the same workload has two graphs")
	}
}

// TestRefusals checks that what no graph of tasks expresses is refused by name.
func TestRefusals(t *testing.T) {
	cases := map[string]string{
		"    x = 1\n":                               "it executes no action",
		"    sleep 1\n    @noop()\n":                "sleep sleeps",
		"    @noop() [timeout: 1s]\n":               "noop has a timeout",
		"    @fail(type=\"Bad\", message=\"no\")\n": "its instances fail with Bad: no",
		"    try:\n        @fail(type=\"Bad\", message=\"no\")\n    except Bad:\n        @noop()\n": "the failure Bad of fail is caught",
	}
	for body, want := range cases {
		_, err := workload.Of(program(t, "\nfn main(input: [], output: []):\n"+body+"    return\n", "{}"), workload.Options{})
		var refused *workload.Refused
		if !errors.As(err, &refused) || !strings.HasPrefix(refused.Reason, want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
	b := graph.New("early")
	first, second := b.Action("first", "noop"), b.Action("second", "noop")
	b.Output("1").AfterAny(first, second)
	built, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	_, err = workload.Of(&scenarios.Workload{Name: "early", Graph: built, Input: json.RawMessage("{}")}, workload.Options{})
	if err == nil || !strings.Contains(err.Error(), "may end while a task is still at work, such as second") {
		t.Errorf("an early end: %v", err)
	}
}

// TestSizes checks that a workload that fits no line is refused.
func TestSizes(t *testing.T) {
	_, err := workload.Of(build(t, "spread", 4000), workload.Options{})
	if err == nil || !strings.Contains(err.Error(), "take a smaller size") {
		t.Errorf("a spread over each result of a spread: %v", err)
	}
}
