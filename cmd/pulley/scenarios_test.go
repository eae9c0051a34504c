package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

func TestScenariosList(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "list", "scenarios")
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if got.code != 0 || len(lines) != len(scenarios.Library()) || !strings.HasPrefix(strings.Join(strings.Fields(lines[0]), " "), "fanout one action makes a list") {
		t.Errorf("exit status %d: %s", got.code, got.out)
	}
	got = call(t, nil, "list", "scenarios", "--format", "json")
	var rows []listedScenario
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil || len(rows) != len(lines) || rows[2].Parameters["rounds"] != "1" || rows[0].SizeMin != 2 {
		t.Errorf("%v: %s", err, got.out)
	}
}

func TestScenariosShow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"fanout"}, []string{"# fanout.yaml\nabout: one", "# fanout.ir\n", "fn main(input: [width]", "10, 50, 100, 500, 2000 by default, from 2 to 100002: nodes", `input  {"width":8}`, "ends   completed with 56", "nodes  10 node runs", "graph fanout.ir: 8 nodes"}},
		{[]string{"chain=3", "--graph", "dot"}, []string{"# the program of size 3, as it is generated\nfn main", "digraph"}},
		{[]string{"pipeline", "--set", "iterations=2", "--graph", "none"}, []string{`"loop_iters":2`}},
		{[]string{"shop", "--graph", "mermaid"}, []string{"the first of 16 workloads that take turns", "flowchart"}},
		{[]string{"mixed", "--graph", "none"}, []string{"# mixed.yaml", "workloads that take turns"}},
		{[]string{"diamond"}, []string{"# diamond.yaml", "completed with 1758"}},
	} {
		got := call(t, nil, append([]string{"scenarios", "show"}, c.args...)...)
		if got.code != 0 {
			t.Errorf("%v: exit status %d: %s", c.args, got.code, got.err)
		}
		wantParts(t, got.out, c.want...)
	}
	if got := call(t, nil, "scenarios", "show", "diamond", "--graph", "only-dot"); !strings.HasPrefix(got.out, "digraph") {
		t.Errorf("%.100s", got.out)
	}
	for _, args := range [][]string{{"nothing"}, {"fanout=1"}, {"fanout=x"}, {"chain", "--set", "a=1"}, {"chain", "--set", "a"}, {"no.yaml"}} {
		if got := call(t, nil, append([]string{"scenarios", "show"}, args...)...); got.code != console.ExitUsage || got.out != "" || got.err == "" {
			t.Errorf("%v: exit status %d: %s%s", args, got.code, got.out, got.err)
		}
	}
}

func sameWorkloads(t *testing.T, a, b scenarios.Scenario) {
	t.Helper()
	size := a.DefaultSizes[0]
	one, errOne := a.Mix(size, scenarios.Options{Seed: 3})
	two, errTwo := b.Mix(size, scenarios.Options{Seed: 3})
	if errOne != nil || errTwo != nil {
		t.Fatal(errOne, errTwo)
	}
	for i := range 40 {
		v, w := one.Of(i), two.Of(i)
		if string(v.Input) != string(w.Input) || fmt.Sprint(v.Ends) != fmt.Sprint(w.Ends) || v.Source != w.Source || v.Nodes != w.Nodes {
			t.Fatalf("%s, instance %d: %s and %s, %v and %v", a.Name, i, v.Input, w.Input, v.Ends, w.Ends)
		}
	}
}

func TestScenariosExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var files []string
	for _, s := range scenarios.Library() {
		if got := call(t, nil, "scenarios", "export", s.Name, "--out", dir); got.code != 0 || !strings.Contains(got.out, filepath.Join(dir, s.Name+".yaml")) {
			t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
		}
		file := filepath.Join(dir, s.Name+".yaml")
		files = append(files, file)
		written, err := scenarios.Find(file)
		if err != nil {
			t.Fatal(err)
		}
		sameWorkloads(t, s, written)
	}
	got := call(t, nil, append([]string{"scenarios", "check"}, files...)...)
	if got.code != 0 || strings.Count(got.out, ": right; ") != len(files) || got.err != "" {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	got = call(t, nil, "scenarios", "export", "fanout", "--out", dir)
	if got.code != console.ExitUsage || !strings.Contains(got.err, "fanout.yaml is there already; remove it, or choose another --out") {
		t.Errorf("exit status %d: %s", got.code, got.err)
	}
}

// The files stand in several folders; two have the same name.
func TestScenariosExportOfFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/all.yaml":    "about: all\nmix: [{scenario: ../b/orders.yaml}, {scenario: orders.yaml, weight: 2}]\n",
		"a/orders.yaml": "about: small\nprogram: ../b/orders.ir\ninput: {orders: []}\nactions: {charge: , reserve: , mail: {service: samples:times.txt}}\n",
		"a/times.txt":   "1ms\n2ms\n", "b/orders.yaml": ownOrders, "b/orders.ir": ownProgram,
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, out := filepath.Join(dir, "a", "all.yaml"), filepath.Join(dir, "out")
	if got := call(t, nil, "scenarios", "export", file, "--out", out); got.code != 0 {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	before, err := scenarios.Find(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a", "b"} {
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	after, err := scenarios.Find(filepath.Join(out, "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sameWorkloads(t, before, after)
}

func TestScenariosImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, err := wfformat.Generate(wfformat.Montage, 40, 3)
	if err != nil {
		t.Fatal(err)
	}
	made.Name = `a "quoted": name`
	trace := filepath.Join(dir, "sky survey.json")
	f, err := os.Create(trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := wfformat.Write(f, made); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	got := call(t, nil, "scenarios", "import", trace, "--out", out, "--time-scale", "0.0001")
	if got.code != 0 || !strings.Contains(got.out, "sky survey.yaml: 40 tasks, ") {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	s, err := scenarios.Find(filepath.Join(out, "sky survey.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Build(0, scenarios.Options{})
	if err != nil || w.Nodes != 40 || string(w.Expected) != string(made.Expected()) {
		t.Errorf("%v: %+v", err, w)
	}
	forecast, _ := forecasted(t, filepath.Join(out, "sky survey.yaml"), "--workers", "40", "--runs", "1")
	if want := made.CriticalPathSeconds() * 0.0001 * 1000; forecast.MakespanMS.Median < want*0.99 || forecast.MakespanMS.Median > want*1.01 || forecast.Service[0] != "task=trace" {
		t.Errorf("it takes %v ms, and its critical path %v: %v", forecast.MakespanMS.Median, want, forecast.Service)
	}
	// Only the scenario is written; the trace is there already.
	if got := call(t, nil, "scenarios", "import", trace, "--out", dir); got.code != 0 {
		t.Errorf("exit status %d: %s", got.code, got.err)
	}
	for want, args := range map[string][]string{
		"is there already": {trace, "--out", out}, "write a name without a folder": {trace, "--name", "../x"}, "--time-scale": {trace, "--time-scale", "-1"},
		"cannot read the trace": {filepath.Join(dir, "no.json")}, "not WfFormat": {filepath.Join(dir, "out", "none.json")},
	} {
		if err := os.WriteFile(filepath.Join(dir, "out", "none.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := call(t, nil, append([]string{"scenarios", "import"}, args...)...); got.code != console.ExitUsage || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%v: exit status %d: %s", args, got.code, got.err)
		}
	}
}

func TestScenariosCheck(t *testing.T) {
	t.Parallel()
	file := ownScenario(t)
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("about: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := call(t, nil, "scenarios", "check", bad, file, "no.yaml", "fanout")
	if got.code != console.ExitUsage {
		t.Errorf("exit status %d", got.code)
	}
	wantParts(t, got.err, bad+":1:1: the scenario runs nothing", "no.yaml:1:1: no such file or directory")
	wantParts(t, got.out, file+": right; orders: Orders that are", "size 2: 8 workloads in turn, ", "size 4: 8 workloads in turn, ", "fanout: right; ", "size 10: the same for every instance, 10 node runs")
}

func TestTraceOfARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "steps.ir")
	source := `fn main(input: [n], output: [x]):
    xs = spread range(n):i -> @double(value=i)
    y = @flaky(times=1) [retry: 2, backoff: 1ms]
    x = @sum(values=xs + [y])
`
	if err := os.WriteFile(program, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "run.json")
	got := call(t, nil, "run", program, "--input", `{"n": 4}`, "--backend", "memory", "--trace-out", file)
	if got.code != 0 || got.out != "completed: 14\n" {
		t.Fatalf("exit status %d: %s%s", got.code, got.out, got.err)
	}
	trace, err := wfformat.ReadFile(file, wfformat.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if trace.Name != "steps" || len(trace.Tasks) != 6 || trace.Edges() != 5 || len(trace.Roots()) != 4 || len(trace.Sinks()) != 1 || trace.MakespanSeconds <= 0 {
		t.Errorf("%d edges of %+v", trace.Edges(), trace)
	}
	if got := call(t, nil, "scenarios", "import", file, "--out", filepath.Join(dir, "out")); got.code != 0 {
		t.Errorf("exit status %d: %s", got.code, got.err)
	}
	got = call(t, nil, "run", program, "--input", `{"n": 4}`, "--backend", "memory", "--trace-out", program+"/x.json")
	if got.code != console.ExitUsage || got.out != "completed: 14\n" || !strings.Contains(got.err, "x.json") {
		t.Errorf("exit status %d: %s%s", got.code, got.out, got.err)
	}
}
