package plan_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

func compile(t testing.TB, file, source string) *plan.Program {
	t.Helper()
	p, err := plan.CompileText(file, []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func act(action string, args map[string]json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	values := map[string]any{}
	for name, raw := range args {
		v, err := expr.Decode(raw, ir.Limits{})
		if err != nil {
			return nil, &plan.Failure{Type: "ArgumentError", Message: name + ": " + err.Error()}
		}
		values[name] = expr.ToGo(v)
	}
	number := func(name string) int64 { n, _ := values[name].(int64); return n }
	var out any
	switch action {
	case "echo":
		return args["value"], nil
	case "garbage":
		return json.RawMessage("{"), nil
	case "double":
		out = number("value") * 2
	case "add":
		out = number("a") + number("b")
	case "items":
		list := []any{}
		for i := range number("count") {
			list = append(list, i)
		}
		out = list
	case "sum":
		var sum int64
		list, _ := values["values"].([]any)
		for _, v := range list {
			n, _ := v.(int64)
			sum += n
		}
		out = sum
	case "fail":
		typ, _ := values["type"].(string)
		return nil, &plan.Failure{Type: typ, Message: "on purpose"}
	case "flaky":
		if int64(attempt) <= number("times") {
			return nil, &plan.Failure{Type: "Flaky", Message: "not yet"}
		}
		out = int64(attempt)
	}
	v, err := expr.FromGo(out)
	if err != nil {
		panic(err)
	}
	raw, err := expr.Encode(v)
	if err != nil {
		panic(err)
	}
	return raw, nil
}

// Each program under testdata/programs begins with the line "# input: JSON". The trace next to it has every event and its plan;
// -update rewrites it.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.ir")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".ir"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, ok := strings.CutPrefix(strings.SplitN(string(source), "\n", 2)[0], "# input: ")
			if !ok {
				t.Fatal("the first line is not # input: JSON")
			}
			d := newDriver(compile(t, filepath.Base(file), string(source)))
			d.act = act
			if err := d.run(input); err != nil {
				t.Fatalf("%v\n%s", err, d.trace.String())
			}
			golden := strings.TrimSuffix(file, ".ir") + ".trace"
			if *update {
				if err := os.WriteFile(golden, []byte(d.trace.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), d.trace.String()); diff != "" {
				t.Errorf("the trace changed (-want +got); if it should, run with -update\n%s", diff)
			}
		})
	}
}

func ExampleProgram_Step() {
	prog, _ := ir.Parse("add.ir", []byte("fn main(input: [n], output: [x]):\n    x = @double(value=n)\n    return x + 1\n"), ir.Limits{})
	g, _ := graph.Compile(prog, ir.Limits{})
	p, _ := plan.Compile(g)

	start, _ := p.Start(json.RawMessage(`{"n": 20}`))
	fmt.Print(p.Describe(start))
	done, _ := p.Step(plan.Event{Run: start.Enqueues[0].Run, Attempt: 1, Result: json.RawMessage("40")}, plan.Inbox{}, 0)
	fmt.Print(p.Describe(done))
	// Output:
	//   enqueue  double @double(value=20)
	//   end      completed: 41
}
