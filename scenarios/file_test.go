package scenarios_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/internal/yamlfile"
	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loaded(t *testing.T, file string) scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Find(file)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mixed(t *testing.T, s scenarios.Scenario, size int, opts scenarios.Options) *scenarios.Mix {
	t.Helper()
	m, err := s.Mix(size, opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mistakes(t *testing.T, dir, file string) string {
	t.Helper()
	_, err := scenarios.Find(filepath.Join(dir, file))
	if err == nil {
		return "no mistake"
	}
	if _, ok := err.(yamlfile.Mistakes); !ok {
		t.Errorf("the error is a %T: %v", err, err)
	}
	return strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
}

const ordersProgram = `fn main(input: [order, region], output: [receipt]):
    try:
        receipt = @charge(order=order, region=region) [Network -> retry: 2, backoff: 1ms]
    except Network as e:
        receipt = e["message"]
    mailed = @mail(receipt=receipt)
    return [receipt, mailed]
`

const ordersFile = `about: Orders that are charged and mailed.
program: orders.ir
parameters: {region: eu}
variants: 16
input: {order: "= instance", region: "= region"}
actions:
  charge:
    service: lognormal:20ms,0.5
    fails: {share: 1%, type: Network, message: connection reset}
    gives: "= {'id': order, 'paid': True}"
  mail: {payload: uniform:100B..200B, gives: {sent: true}}
arrivals: poisson:200/s
run: {warm_up: auto, measure: 30s, drain: 5s, in_flight: [1, 256], workers: 16, engines: 2}
objective: {p99: 100ms, max: 2s}
`

func TestOwnFile(t *testing.T) {
	dir := folder(t, map[string]string{"my orders.yaml": ordersFile, "orders.ir": ordersProgram})
	s := loaded(t, filepath.Join(dir, "my orders.yaml"))
	if s.Name != "my_orders" || s.Doc != "Orders that are charged and mailed." || s.Arrivals != "poisson:200/s" || !s.Arriving.Open() {
		t.Errorf("%+v", s)
	}
	if r := s.Run; !r.WarmUpAuto || r.Measure.Seconds() != 30 || fmt.Sprint(r.InFlight) != "[1 256]" || r.Workers != 16 || r.Engines != 2 {
		t.Errorf("%+v", r)
	}
	if fmt.Sprint(s.Objectives) != "[{99 100ms} {100 2s}]" {
		t.Errorf("%v", s.Objectives)
	}
	m := mixed(t, s, 1, scenarios.Options{Seed: 3})
	if len(m.Workloads) != 16 || m.Name != "my_orders" || m.Size != 1 || !slices.Equal(m.Actions(), []string{"charge", "mail"}) {
		t.Fatalf("%d workloads of %s, actions %v", len(m.Workloads), m, m.Actions())
	}
	for i, w := range m.Workloads {
		if w.Nodes != 2 || w.Optional != 0 || len(w.Ends) != 1 || !strings.HasPrefix(string(w.Expected), fmt.Sprintf(`[{"id":%d,"paid":true},{"sent":true,"payload":"`, i)) ||
			string(w.Input) != fmt.Sprintf(`{"order":%d,"region":"eu"}`, i) || m.Of(16+i).Input == nil || string(m.Of(16+i).Input) != string(w.Input) {
			t.Errorf("%d: %+v", i, w)
		}
	}
	other := mixed(t, s, 1, scenarios.Options{Seed: 3, Set: map[string]string{"region": "us"}})
	if string(other.Workloads[0].Input) != `{"order":0,"region":"us"}` {
		t.Errorf("%s", other.Workloads[0].Input)
	}
	light := mixed(t, s, 1, scenarios.Options{Unjudged: true})
	if w := light.Workloads[3]; w.Nodes != 0 || w.Ends != nil || w.Expected != nil || string(w.Input) != string(m.Workloads[3].Input) {
		t.Errorf("unjudged: %+v", w)
	}
}

// The scenario's files are removed before it is read from its bundled text. The workloads must be equal.
func TestBundle(t *testing.T) {
	dir := folder(t, map[string]string{
		"a/all.yaml":    "about: all\nmix: [{scenario: ../b/orders.yaml}, {scenario: fanout, size: 5, weight: 2}, {scenario: times.yaml}]\n",
		"b/orders.yaml": ordersFile, "b/orders.ir": ordersProgram,
		"a/times.yaml": "about: times\nprogram: ../b/orders.ir\ninput: {order: 1, region: x}\nactions: {charge: {service: samples:times.txt}, mail: }\narrivals: trace:times.txt\n",
		"a/times.txt":  "1ms\n\n# slow\n2s\n",
	})
	s := loaded(t, filepath.Join(dir, "a/all.yaml"))
	text, err := json.Marshal(s.Bundle())
	if err != nil {
		t.Fatal(err)
	}
	var b scenarios.Bundle
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(b.Files)); b.Root != "all.yaml" || !slices.Equal(got, []string{"../b/orders.ir", "../b/orders.yaml", "all.yaml", "times.txt", "times.yaml"}) {
		t.Fatalf("%s of %v", b.Root, got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again, err := scenarios.FromBundle(b)
	if err != nil {
		t.Fatal(err)
	}
	plain := func(m *scenarios.Mix) (out []string) {
		for i := range 100 {
			w := m.Of(i)
			out = append(out, fmt.Sprintf("%s %d %s %s %v", w.Name, w.Size, w.Input, w.Expected, w.Ends))
		}
		return out
	}
	one, two := mixed(t, s, 1, scenarios.Options{Seed: 5}), mixed(t, again, 1, scenarios.Options{Seed: 5})
	if d := diff.Diff(plain(one), plain(two)); d != "" {
		t.Error(d)
	}
	delete(b.Files, "../b/orders.ir")
	if _, err := scenarios.FromBundle(b); err == nil || !strings.Contains(err.Error(), "not among those that were kept") {
		t.Errorf("a bundle that lacks a file: %v", err)
	}
	if s := loaded(t, "fanout"); s.Bundle() != nil {
		t.Error("a scenario that ships has a bundle")
	}
}

// Every round must have the shares that the weights state, and a part's variants must alternate.
func TestMix(t *testing.T) {
	dir := folder(t, map[string]string{
		"mix.yaml":    "about: m\nparameters: {n: 3}\nsizes: {default: 4}\nmix:\n- {scenario: fanout, size: \"= size + n\", weight: 3}\n- {scenario: orders.yaml, parameters: {region: us}}\n- {scenario: chain}\n",
		"orders.yaml": ordersFile, "orders.ir": ordersProgram,
	})
	m := mixed(t, loaded(t, filepath.Join(dir, "mix.yaml")), 4, scenarios.Options{})
	count := map[string]int{}
	orders := ""
	for i := range 5 * 16 {
		w := m.Of(i)
		if count[fmt.Sprint(w.Name, w.Size)]++; w.Name == "orders" {
			orders += string(w.Input)
		}
		if i%5 == 4 && (count["fanout7"] != 3*(i/5+1) || count["orders1"] != i/5+1 || count["chain10"] != i/5+1) {
			t.Fatalf("after %d instances: %v", i+1, count)
		}
	}
	for i := range 16 {
		if !strings.Contains(orders, fmt.Sprintf(`{"order":%d,"region":"us"}`, i)) {
			t.Errorf("order %d has no turn: %s", i, orders)
		}
	}
	if same := mixed(t, loaded(t, filepath.Join(dir, "mix.yaml")), 4, scenarios.Options{}); !slices.Equal(same.Order, m.Order) {
		t.Error("the same seed gives another order")
	}
	if other := mixed(t, loaded(t, filepath.Join(dir, "mix.yaml")), 4, scenarios.Options{Seed: 1}); slices.Equal(other.Order, m.Order) {
		t.Error("another seed gives the same order")
	}
	least, most := m.Nodes(5)
	if want := 3*7 + 10 + 2; least != want || most != want || m.Mean() != 7 {
		t.Errorf("%d to %d nodes, mean %d; want %d, and 7", least, most, m.Mean(), want)
	}
}

// Each task must behave as its own scenario describes: two run one program differently, and one ships.
func TestExecutor(t *testing.T) {
	dir := folder(t, map[string]string{
		"a/one.yaml": "about: one\nprogram: ../p.ir\nactions: {work: {gives: 1}}\n", "a/two.yaml": "about: two\nprogram: ../p.ir\nactions: {work: {gives: 2}}\n",
		"b/one.yaml": "about: three\nprogram: ../p.ir\nactions: {work: {gives: 3}}\n", "p.ir": "fn main(input: [], output: [x]):\n    x = @work()\n",
	})
	var list []scenarios.Workload
	for _, name := range []string{filepath.Join(dir, "a/one.yaml"), filepath.Join(dir, "a/two.yaml"), "chain"} {
		list = append(list, mixed(t, loaded(t, name), 1, scenarios.Options{}).Workloads...)
	}
	executor, err := scenarios.Executor(list...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2", "UnknownAction"} {
		program, err := plan.Compile(list[i].Graph)
		if err != nil {
			t.Fatal(err)
		}
		if err := executor.Check(list[i].Graph); err != nil {
			t.Error(err)
		}
		for _, priority := range []int{0, 3} {
			if program, err = program.WithPriority(priority); err != nil {
				t.Fatal(err)
			}
			got, failed := executor.Execute(t.Context(), backend.Task{Action: "work", Args: json.RawMessage("{}"), Attempt: 1, Program: program})
			if failed != nil {
				got = json.RawMessage(failed.Type)
			}
			if string(got) != want {
				t.Errorf("%s with priority %d gives %s, want %s", list[i].Name, priority, got, want)
			}
		}
	}
	if _, err = scenarios.Executor(list[0], mixed(t, loaded(t, filepath.Join(dir, "b/one.yaml")), 1, scenarios.Options{}).Workloads[0]); err != nil {
		t.Errorf("two of one name: %v", err)
	}
	other := mixed(t, loaded(t, filepath.Join(dir, "a/one.yaml")), 1, scenarios.Options{}).Workloads[0]
	other.Behaviour, other.Bundle = list[1].Behaviour, list[1].Bundle
	if _, err = scenarios.Executor(list[0], other); err == nil || !strings.Contains(err.Error(), "run the same program, and describe its actions differently") {
		t.Errorf("two that cannot be told apart: %v", err)
	}
	again := mixed(t, loaded(t, filepath.Join(dir, "a/one.yaml")), 1, scenarios.Options{})
	if _, err := scenarios.Executor(list[0], again.Workloads[0]); err != nil {
		t.Errorf("one that is named twice: %v", err)
	}
}

func TestFailures(t *testing.T) {
	dir := folder(t, map[string]string{
		"spread.ir": "fn main(input: [], output: [x]):\n    x = spread range(40):i -> @a(i=i)\n",
		"spread.yaml": `about: some of many fail
program: spread.ir
actions: {a: {fails: [{share: 20%, type: Slow, message: too slow}, {share: 20%, type: Lost}]}}
`,
		"told.yaml": "about: it fails\nprogram: told.ir\nexpect: {failure: {type: Declined, action: fail}, nodes: 1}\n",
		"told.ir":   "fn main(input: [], output: [x]):\n    x = @fail(type=\"Declined\", message=\"no\")\n",
		"task.yaml": "about: a trace whose tasks fail\ntrace: {shape: layered, tasks: 60}\nactions: {task: {fails: {share: 10%, type: Lost, message: gone}}}\n",
	})
	w, err := loaded(t, filepath.Join(dir, "spread.yaml")).Build(1, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pos := ir.Pos{File: filepath.Join(dir, "spread.ir"), Line: 2, Col: 31}
	want := []reference.End{
		{Status: reference.Failed, Error: &reference.Error{Type: "Slow", Message: "too slow", Action: "a", Pos: pos}},
		{Status: reference.Failed, Error: &reference.Error{Type: "Lost", Message: "it fails by chance", Action: "a", Pos: pos}},
	}
	if len(w.Ends) == 2 && w.Ends[0].Error.Type == "Lost" {
		slices.Reverse(want)
	}
	if d := diff.Diff(want, w.Ends); d != "" || w.Expected != nil || w.Nodes != 40 || w.Optional != 40 {
		t.Errorf("%d nodes, %d optional, expected %s: %s", w.Nodes, w.Optional, w.Expected, d)
	}
	if len(w.Warnings) != 1 || !strings.Contains(w.Warnings[0], "spread.yaml:3:11: @a fails by its arguments, and all instances have the same input") {
		t.Errorf("warnings %q", w.Warnings)
	}
	if d := w.Differs(reference.End{Status: reference.Completed, Result: json.RawMessage("1")}); d == "" {
		t.Error("an instance that completes is right")
	}
	if d := w.Differs(want[1]); d != "" {
		t.Error(d)
	}
	if w, err = loaded(t, filepath.Join(dir, "told.yaml")).Build(1, scenarios.Options{}); err != nil || len(w.Ends) != 1 || w.Ends[0].Error.Message != "no" || w.Nodes != 1 {
		t.Errorf("%v: %+v", err, w)
	}
	if w, err = loaded(t, filepath.Join(dir, "task.yaml")).Build(1, scenarios.Options{}); err != nil || len(w.Ends) != 1 || w.Ends[0].Error == nil || w.Nodes >= 60 || w.Optional != w.Nodes-1 {
		t.Errorf("%v: %+v", err, w)
	}
}

func TestOwnTrace(t *testing.T) {
	made, err := wfformat.Generate(wfformat.Montage, 30, 1)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := wfformat.Write(&text, made); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{
		"sky.yaml": "about: the sky\ntrace: {file: sky.json, time_scale: 0.001}\n", "plain.yaml": "about: the sky\ntrace: sky.json\n", "sky.json": text.String(),
	})
	for _, name := range []string{"sky.yaml", "plain.yaml"} {
		s := loaded(t, filepath.Join(dir, name))
		for _, size := range []int{0, 30} {
			w, err := s.Build(size, scenarios.Options{})
			if err != nil || w.Size != 30 || w.Nodes != 30 || string(w.Expected) != string(made.Expected()) || w.Name+".yaml" != name {
				t.Errorf("%v: %+v", err, w)
			}
		}
		if _, err := s.Build(29, scenarios.Options{}); err == nil || !strings.Contains(err.Error(), "has 30 tasks; leave the size out") {
			t.Error(err)
		}
		if !slices.Equal(s.Sizes(scenarios.Options{}), []int{30}) {
			t.Errorf("sizes %v", s.Sizes(scenarios.Options{}))
		}
	}
}

// All mistakes of a file and its program must be reported at once, sorted.
func TestManyMistakes(t *testing.T) {
	got := mistakes(t, "testdata/mistakes", "many.yaml") + "\n"
	if *update {
		if err := os.WriteFile("testdata/mistakes/many.txt", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/mistakes/many.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Each mistake states its place and what to do.
func TestMistakes(t *testing.T) {
	const p = "about: x\nprogram: p.ir\n"
	for name, c := range map[string]struct{ file, program, want string }{
		"empty":                     {"", "", "f.yaml:1:1: the file is empty; it holds a map of keys and values"},
		"a text":                    {"hello", "", "f.yaml:1:1: a scenario is a map of keys and values, not a text; its keys are about, program, generate, trace, mix, parameters, sizes, variants, draw, input, actions, arrivals, expect, checks, run, objective, pressure"},
		"nothing in it":             {"about:\nprogram:\n", "", "f.yaml:1:1: the key about is missing; say in one line what the scenario is\nf.yaml:1:1: the scenario runs nothing; name a program, as in program: orders.ir, or write generate, trace or mix"},
		"two bodies":                {p + "trace: x.json\n", "fn main(input: [], output: []):\n    pass\n", "f.yaml:3:8: the scenario has program and trace; leave one of both out"},
		"nothing to press on":       {p + "actions: {a: {payload: \"const:1kB\"}}\npressure: {payload: \"const:100kB\"}\n", "fn main(input: [], output: [x]):\n    x = @a(b=1)\n", "f.yaml:4:21: payload has no action to press on; describe one of the scenario's own under actions that says nothing of its payload"},
		"no program":                {p, "", "f.yaml:2:10: the program cannot be read: p.ir: no such file or directory; name one in the scenario's folder"},
		"a program in line":         {"about: x\nprogram: |\n  fn main(input: [], output: []):\n      pass\n", "", "f.yaml:2:10: program has several lines; write one, and what is longer behind a #"},
		"a bad program":             {p, "fn main(input: [], output: [x]):\n    x = @add(a=1\n", "p.ir:2:"},
		"a bad call":                {p, "fn main(input: [], output: [x]):\n    x = @ad(a=1, b=2)\n", "p.ir:2:9: @ad is no action; did you mean @add?"},
		"arguments":                 {p, "fn main(input: [], output: [x]):\n    x = @add(a=1, c=2)\n", "p.ir:2:9: @add takes no c; it takes a, b\np.ir:2:9: @add lacks b; write b=…"},
		"inputs":                    {p + "input: {b: 1, cc: 2}\n", "fn main(input: [a, c], output: [x]):\n    x = a\n", "f.yaml:3:8: main takes a; give it under input\nf.yaml:3:8: main takes c; give it under input\nf.yaml:3:9: main takes no b; did you mean a?\nf.yaml:3:15: main takes no cc; did you mean c?"},
		"no inputs":                 {p, "fn main(input: [a], output: [x]):\n    x = a\n", "f.yaml:2:10: main takes a; give it under input"},
		"a wrong result":            {p + "expect: {result: 4}\n", "fn main(input: [], output: [x]):\n    x = @add(a=1, b=2)\n", "f.yaml:3:18: the file expects the result 4, for size 1; the reference interpreter says that it completed with 3"},
		"wrong nodes":               {p + "expect: {nodes: 2}\n", "fn main(input: [], output: [x]):\n    x = @add(a=1, b=2)\n", "f.yaml:3:17: the file expects 2 nodes for size 1, and there are 1"},
		"a wrong failure":           {p + "expect: {failure: {type: X}}\n", "fn main(input: [], output: [x]):\n    x = @add(a=1, b=2)\n", "f.yaml:3:19: the file expects a failure of type X, for size 1; the reference interpreter says that it completed with 3"},
		"a failing expression":      {p, "fn main(input: [], output: [x]):\n    x = 1 // 0\n", "p.ir:2:9: the instance failed with ExpressionError: floored division by zero; if that is meant, write expect: {failure: {type: ExpressionError}}"},
		"a value of the wrong type": {p + "variants: 2\n", "fn main(input: [], output: [x]):\n    x = @sum(values=5)\n", "p.ir:2:9: instance 0: the instance failed with @sum: ArgumentError: action sum: argument values must be a list, not an int; if that is meant, write expect: {failure: {type: ArgumentError}}"},
		"too large":                 {p + "sizes: {default: 120000}\ninput: {n: = size}\n", "fn main(input: [n], output: [x]):\n    x = spread range(n):i -> @noop()\n", "p.ir:2:9: the instance failed with LimitExceeded: elements of a spread: 120000 is over the limit of 100000; make it smaller or raise the limit; if that is meant, write expect: {failure: {type: LimitExceeded}}"},
		"an input that fails":       {p + "sizes: {default: 0, least: 0}\ninput: {a: = 1 // size}\n", "fn main(input: [a], output: [x]):\n    x = a\n", "f.yaml:4:12: ExpressionError: floored division by zero"},
		"a parameter of itself":     {p + "parameters: {a: 1}\ndraw: {a: uniform:1..2}\n", "fn main(input: [], output: [x]):\n    x = 1\n", "f.yaml:4:8: what is drawn is called a, and so is a parameter; take another name"},
		"an unused action":          {p + "actions: {charge: {service: 1ms}}\n", "fn main(input: [], output: [x]):\n    x = @noop()\n", "f.yaml:3:11: action charge is described, and the program does not call it; it calls @noop"},
		"a share of nothing":        {p + "actions: {noop: {fails: {type: X}}}\n", "fn main(input: [], output: [x]):\n    x = @noop()\n", "f.yaml:3:25: fails needs a share; write how many of a hundred attempts fail, as in share: 1%"},
		"shares":                    {p + "actions: {noop: {fails: [{share: 0.6}, {share: 50%}]}}\n", "fn main(input: [], output: [x]):\n    x = @noop()\n", "f.yaml:3:25: the shares of failures add up to 110 %, which is more than all attempts"},
		"a shape":                   {"about: x\ngenerate: {shape: chian, steps: 1}\n", "", "f.yaml:2:19: there is no shape \"chian\"; did you mean chain?"},
		"no shape":                  {"about: x\ngenerate: {steps: 1}\n", "", "f.yaml:2:11: generate needs a shape: one of chain, fanout, loop, spread, branches, layered, diamond"},
		"a parameter of a shape":    {"about: x\ngenerate: {shape: chain, stpes: 1}\n", "", "f.yaml:2:11: the shape chain needs steps: actions\nf.yaml:2:26: generate has no key \"stpes\"; did you mean steps?"},
		"too few":                   {"about: x\ngenerate: {shape: chain, steps: 0}\n", "", "f.yaml:2:33: steps is 0; choose from 1 to 1099511627776"},
		"too many":                  {"about: x\nsizes: {default: 50000}\ngenerate: {shape: chain, steps: = size}\n", "", "f.yaml:3:11: nodes: 50000 is over the limit of 10000; take a smaller size or raise the limit"},
		"a generated action":        {"about: x\ngenerate: {shape: fanout, width: 2, action: work}\n", "", "f.ir:2:35: @work is no action; describe it under actions"},
		"a diamond that fails":      {"about: x\ngenerate: {shape: diamond, layers: 2}\nactions: {add: {fails: {share: 1%}}}\n", "", "f.yaml:2:11: the workflow is a graph and no program, so that nobody knows how it ends when @add fails; leave fails out"},
		"a diamond of text":         {"about: x\ngenerate: {shape: diamond, layers: 2}\ninput: {start: x}\n", "", "f.yaml:3:8: start is a whole number here"},
		"a trace":                   {"about: x\ntrace: no.json\n", "", "f.yaml:2:8: the trace cannot be read: no.json: no such file or directory"},
		"a trace of two kinds":      {"about: x\ntrace: {file: no.json, shape: star, tasks: 5}\n", "", "f.yaml:2:8: a trace that is read has its own shape and tasks; leave file out, or the others\nf.yaml:2:31: there is no shape \"star\" of traces; there are scatter, forkjoin, montage, pipelines, layered"},
		"a trace without tasks":     {"about: x\ntrace: {shape: montage}\n", "", "f.yaml:2:8: a trace is read from a file, or generated from a shape and a number of tasks; write file, or shape and tasks"},
		"too small a trace":         {"about: x\ntrace: {shape: montage, tasks: 2}\n", "", "f.yaml:2:8: a trace of the shape montage has from 8 to 100000 tasks, not 2"},
		"an empty mix":              {"about: x\nmix: []\n", "", "f.yaml:2:6: mix is a list of scenarios, as in mix: [{scenario: fanout, size: 10, weight: 3}, {scenario: orders.yaml}]"},
		"a mix of nothing":          {"about: x\nmix: [{scenario: fnout}, {size: 5}, {scenario: no.yaml}, {scenario: fanout, size: 1}]\ninput: {}\n", "", "f.yaml:2:18: there is no scenario \"fnout\", did you mean \"fanout\"?"},
		"a mix of itself":           {"about: x\nmix: [{scenario: f.yaml}]\n", "", "f.yaml:2:18: f.yaml is mixed into itself; take it out"},
		"a mix of too small":        {"about: x\nmix: [{scenario: fanout, size: 1}]\n", "", "f.yaml:2:32: the size of fanout is 1; choose from 2 to 100002"},
		"parameters of a mix":       {"about: x\nmix: [{scenario: spread, parameters: {runds: 1}}, {scenario: chain, parameters: {a: 1}}]\n", "", "f.yaml:2:39: spread has no parameter runds; did you mean rounds?\nf.yaml:2:82: chain has no parameters, and so no a"},
		"samples":                   {p + "actions: {noop: {service: samples:p.ir}}\n", "fn main(input: [], output: [x]):\n    x = @noop()\n", "f.yaml:3:27: service: \"samples:p.ir\": p.ir:1:1: \"const:fn main(input: [], output: [x]):\":"},
		"an action twice":           {p + "actions: {charge: , \"@charge\": {service: 1ms}}\n", "fn main(input: [], output: [x]):\n    x = @charge()\n", "f.yaml:3:21: action charge is described twice, and on line 3 first; take one out"},
		"weights":                   {"about: x\nmix: [{scenario: fanout, weight: 9000}, {scenario: chain, weight: 9000}]\n", "", "f.yaml:2:6: the weights add up to 18000, and 10000 are the most; make them smaller"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"f.yaml": c.file}
			if c.program != "" {
				files["p.ir"] = c.program
			}
			if got := mistakes(t, folder(t, files), "f.yaml"); !strings.HasPrefix(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	dir := folder(t, map[string]string{"d.yaml/x": ""})
	for file, want := range map[string]string{
		"d.yaml":  "d.yaml:1:1: this is a directory; name the file of a scenario, or one of those that ship",
		"no.yaml": "no.yaml:1:1: no such file or directory; name the file of a scenario, or one of those that ship",
	} {
		if got := mistakes(t, dir, file); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Every key that a file may have must be listed.
func TestHelp(t *testing.T) {
	told := mistakes(t, folder(t, map[string]string{"f.yaml": "hello"}), "f.yaml")
	_, keys, found := strings.Cut(told, "its keys are ")
	if !found {
		t.Fatal(told)
	}
	for key := range strings.SplitSeq(keys, ", ") {
		if !strings.Contains("\n"+scenarios.Help, "\n"+key+" ") {
			t.Errorf("the help does not tell of %s", key)
		}
	}
}

// Only a larger size has the mistake.
func TestCheckSizes(t *testing.T) {
	dir := folder(t, map[string]string{
		"f.yaml": "about: x\nprogram: p.ir\nsizes: {default: [1, 2, 3]}\ninput: {n: = size}\nexpect: {result: 2}\n",
		"p.ir":   "fn main(input: [n], output: [x]):\n    x = 2 if n < 3 else 3\n",
	})
	s := loaded(t, filepath.Join(dir, "f.yaml"))
	err := s.CheckSizes()
	if want := filepath.Join(dir, "f.yaml") + ":5:18: the file expects the result 2, for size 3; the reference interpreter says that it completed with 3"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for _, s := range scenarios.Library() {
		if err := s.CheckSizes(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// The shipped scenarios outside the default set run on the engine's own core.
func TestShippedScenariosRun(t *testing.T) {
	for _, s := range scenarios.Library()[len(scenarios.All()):] {
		m := mixed(t, s, s.DefaultSizes[0], scenarios.Options{Seed: 1})
		for i := range min(len(m.Order), 20) {
			runAny(t, *m.Of(i), uint64(i))
		}
	}
}

func TestParseName(t *testing.T) {
	for text, want := range map[string]string{
		"fanout": "fanout 0 false", "fanout=10": "fanout 10 true", "a/b.yaml": "a/b.yaml 0 false", "a=1/b.yaml": "a=1/b.yaml 0 false",
		"a=1/b.yaml=7": "a=1/b.yaml 7 true", "b.yml=7": "b.yml 7 true", "fanout=x": `scenario "fanout=x": "x" is no size; write a whole number, as in fanout=10`,
		"fanout=-1": `scenario "fanout=-1": "-1" is no size; write a whole number, as in fanout=10`, "": " 0 false", "b.yaml=": `scenario "b.yaml=": "" is no size; write a whole number, as in fanout=10`,
	} {
		name, size, sized, err := scenarios.ParseName(text)
		got := fmt.Sprint(name, " ", size, " ", sized)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestParseSet(t *testing.T) {
	set, err := scenarios.ParseSet([]string{"a=1", "b=x=y", "c=[1, 2]"})
	if err != nil || fmt.Sprint(set) != "map[a:1 b:x=y c:[1, 2]]" {
		t.Errorf("%v, %v", set, err)
	}
	for _, texts := range [][]string{{"a"}, {"=1"}, {"a=1", "a=2"}, {"a=["}, {"a="}} {
		if _, err := scenarios.ParseSet(texts); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", texts, err)
		}
	}
}

// A trace's graph is cached for equal options, and built again for others.
func TestGraphsOfTracesAreKept(t *testing.T) {
	made, err := wfformat.Generate(wfformat.Montage, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := wfformat.Write(&text, made); err != nil {
		t.Fatal(err)
	}
	s := loaded(t, filepath.Join(folder(t, map[string]string{"t.yaml": "about: a trace\ntrace: t.json\n", "t.json": text.String()}), "t.yaml"))
	graphOf := func(scale float64) *graph.Graph {
		return mixed(t, s, s.DefaultSizes[0], scenarios.Options{TimeScale: scale}).Workloads[0].Graph
	}
	one := graphOf(1)
	if graphOf(1) != one {
		t.Error("the graph is made twice")
	}
	if graphOf(2) == one {
		t.Error("the graph of another time scale is the one that was kept")
	}
}
