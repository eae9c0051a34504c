package generate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/internal/depth"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/generate"
)

func law(t testing.TB, text string) *dist.Law {
	t.Helper()
	l, err := dist.Parse(text, dist.Counts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type named struct {
	shape  string
	values generate.Values
}

func all(t testing.TB) []named {
	numbers := func(pairs ...any) generate.Values {
		v := generate.Values{Numbers: map[string]int{}, Laws: map[string]*dist.Law{}, Shares: map[string]float64{}, Names: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			name := pairs[i].(string)
			switch value := pairs[i+1].(type) {
			case int:
				v.Numbers[name] = value
			case float64:
				v.Shares[name] = value
			case string:
				if name == "action" {
					v.Names[name] = value
				} else {
					v.Laws[name] = law(t, value)
				}
			}
		}
		return v
	}
	return []named{
		{"chain", numbers("steps", 1)}, {"chain", numbers("steps", 30)}, {"chain", numbers("steps", 5, "action", "step")},
		{"fanout", numbers("width", 0)}, {"fanout", numbers("width", 7)}, {"fanout", numbers("width", 3, "depth", 4)}, {"fanout", numbers("width", 0, "depth", 2)},
		{"loop", numbers("iterations", 0)}, {"loop", numbers("iterations", 5, "steps", 3)}, {"loop", numbers("iterations", 3, "depth", 3, "steps", 2)},
		{"spread", numbers("sizes", "uniform:0..6")}, {"spread", numbers("sizes", "zipf:1.1,20", "stages", 6, "limit", 2)}, {"spread", numbers("sizes", "const:0", "stages", 1)},
		{"branches", numbers("rounds", 0)}, {"branches", numbers("rounds", 9)}, {"branches", numbers("rounds", 4, "ways", 2, "steps", "const:2")},
		{"layered", numbers("layers", 1, "width", "const:1")}, {"layered", numbers("layers", 5, "width", "uniform:1..8", "edges", 0.3)}, {"layered", numbers("layers", 3, "width", "const:6", "edges", 1.0)}, {"layered", numbers("layers", 4, "width", "const:4", "edges", 0.0)},
		{"diamond", numbers("layers", 1)}, {"diamond", numbers("layers", 6)}, {"diamond", numbers("layers", 3, "arms", 1)}, {"diamond", numbers("layers", 2, "arms", 9)},
	}
}

func right(t *testing.T, w generate.Workflow, input string) (*graph.Graph, json.RawMessage, int) {
	t.Helper()
	if w.Graph != nil {
		result, err := w.Result(5)
		if err != nil {
			t.Fatal(err)
		}
		return w.Graph, result, w.Nodes
	}
	tree, err := ir.Parse("g.ir", []byte(w.Source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	out := reference.Interpret(tree, json.RawMessage(input), reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failed := behaviour.Plain().Instant().Execute(t.Context(), backend.Task{Action: name, Args: args, Attempt: attempt})
		if failed != nil {
			return nil, &reference.Error{Type: failed.Type, Message: failed.Message}
		}
		return result, nil
	}), reference.Options{})
	if out.Status != reference.Completed {
		t.Fatalf("%s:\n%s", out.Describe(), w.Source)
	}
	result, err := expr.Encode(out.Result)
	if err != nil {
		t.Fatal(err)
	}
	return g, result, len(out.Calls)
}

// drive runs instances on the engine's own core, with tasks that end in an order chosen by seed, and returns the results and
// numbers of node runs.
func drive(t *testing.T, g *graph.Graph, input string, seed uint64) (results []string, nodes []int) {
	t.Helper()
	program, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	registry := behaviour.Plain().Timed()
	calls := map[string]backendtest.Func{}
	for _, a := range registry.Describe() {
		calls[a.Name] = func(args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
			return registry.Execute(t.Context(), backend.Task{Action: a.Name, Args: args, Attempt: attempt})
		}
	}
	subs := make([]backend.Submission, 2)
	for i := range subs {
		subs[i] = backend.Submission{ID: uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%d", i)), Program: program, Input: json.RawMessage(input)}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	store := memory.New(memory.Options{})
	defer store.Close()
	seen, err := backendtest.Drive(ctx, store, subs, backendtest.DriveConfig{Actions: calls, Max: 16, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range subs {
		runs := 0
		for _, n := range seen.Runs(s.ID) {
			runs += n
		}
		results, nodes = append(results, string(seen.Instances[s.ID].Result)), append(nodes, runs)
	}
	return results, nodes
}

// Every shape is compared with the reference interpreter or the shape's own result.
func TestShapesRun(t *testing.T) {
	covered := map[string]bool{}
	for i, c := range all(t) {
		covered[c.shape] = true
		for seed := range depth.Of[uint64](2, 20) {
			s, err := generate.Find(c.shape)
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Write(c.values, seed, ir.Limits{})
			if err != nil {
				t.Fatalf("%s %d: %v", c.shape, i, err)
			}
			g, want, nodes := right(t, w, `{"start":5}`)
			results, runs := drive(t, g, `{"start":5}`, seed)
			for k := range results {
				if results[k] != string(want) || runs[k] != nodes {
					t.Errorf("%s %d, seed %d: %s after %d node runs, want %s after %d\n%s", c.shape, i, seed, results[k], runs[k], want, nodes, w.Source)
				}
			}
			if _, other, _ := right(t, w, `{"start":6}`); w.Graph == nil && string(other) == string(want) {
				t.Errorf("%s %d: the result does not depend on the input", c.shape, i)
			}
		}
	}
	for _, s := range generate.Shapes() {
		if !covered[s.Name] {
			t.Errorf("%s is not run", s.Name)
		}
		for _, p := range s.Parameters {
			if p.Doc == "" || p.Kind != generate.Name && p.Kind != generate.Share && p.Most <= p.Least {
				t.Errorf("%s: %+v", s.Name, p)
			}
		}
	}
}

func TestSameSeedSameWorkflow(t *testing.T) {
	s, err := generate.Find("layered")
	if err != nil {
		t.Fatal(err)
	}
	values := generate.Values{Numbers: map[string]int{"layers": 6}, Laws: map[string]*dist.Law{"width": law(t, "uniform:1..9")}}
	seen := map[string]uint64{}
	for seed := range uint64(20) {
		w, err := s.Write(values, seed, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := s.Write(values, seed, ir.Limits{}); again.Source != w.Source {
			t.Errorf("seed %d gives two programs", seed)
		}
		if other, twice := seen[w.Source]; twice {
			t.Errorf("seeds %d and %d give one program", seed, other)
		}
		seen[w.Source] = seed
	}
	if len(values.Names) > 0 {
		t.Error("the values that were given were changed")
	}
}

// If the result of any single step changes, the workflow's result must change: a scheduler that loses or confuses a value must
// be noticed.
func TestResultsDependOnEveryStep(t *testing.T) {
	for _, c := range all(t) {
		s, err := generate.Find(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Write(c.values, 1, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if w.Graph != nil {
			continue
		}
		tree, err := ir.Parse("g.ir", []byte(w.Source), ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		result := func(wrong int) (string, int) {
			calls := 0
			out := reference.Interpret(tree, json.RawMessage(`{"start":5}`), reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
				result, failed := behaviour.Plain().Instant().Execute(t.Context(), backend.Task{Action: name, Args: args, Attempt: attempt})
				if failed != nil {
					t.Fatal(failed)
				}
				if calls++; calls == wrong {
					return json.RawMessage(`12345`), nil
				}
				return result, nil
			}), reference.Options{})
			return reference.Canonical(out.Result), calls
		}
		right, calls := result(0)
		for wrong := 1; wrong <= min(calls, 300); wrong++ {
			if got, _ := result(wrong); got == right {
				t.Errorf("%s: step %d gives something else, and the result is the same\n%s", c.shape, wrong, w.Source)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		shape string
		v     generate.Values
		want  string
	}{
		{"chain", generate.Values{}, "the shape chain needs steps: actions"},
		{"chain", generate.Values{Numbers: map[string]int{"steps": 20_000}}, "nodes: 20000 is over the limit of 10000"},
		{"fanout", generate.Values{Numbers: map[string]int{"width": 200_000}}, "elements of one spread: 200000 is over the limit of 100000"},
		{"fanout", generate.Values{Numbers: map[string]int{"width": 1000, "depth": 16}}, "1000 to the power of 16 is 1e+48 steps"},
		{"loop", generate.Values{Numbers: map[string]int{"iterations": 1 << 40}}, "iterations of one loop"},
		{"branches", generate.Values{Numbers: map[string]int{"rounds": 9000, "ways": 100}}, "the program is over the limit of 1048576 bytes"},
		{"layered", generate.Values{Numbers: map[string]int{"layers": 10_000}, Laws: map[string]*dist.Law{"width": law(t, "100")}}, "nodes: 10100 is over the limit of 10000"},
		{"diamond", generate.Values{Numbers: map[string]int{"layers": 1 << 40}}, "nodes: "},
	} {
		s, err := generate.Find(c.shape)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(c.v, 1, ir.Limits{}); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.shape, err, c.want)
		}
	}
	for name, want := range map[string]string{"dimond": `there is no shape "dimond"; did you mean diamond?`, "xyzzy": `there is no shape "xyzzy"; there are chain, fanout, loop, spread, branches, layered, diamond`} {
		if _, err := generate.Find(name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
