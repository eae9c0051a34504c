package bench_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/internal/depth"
)

func own(t *testing.T, first string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, first)
}

var orders = map[string]string{
	"orders.yaml": `about: Orders that are charged, reserved and mailed.
program: orders.ir
parameters: {items: 3}
variants: 8
input: {order: "= instance", lines: "= list(range(items))"}
actions:
  charge:
    service: lognormal:2ms,0.5
    fails: {share: 1%, type: Network, message: connection reset}
    gives: "= {'id': order, 'paid': True}"
  reserve: {service: exp:1ms, fails: {share: 1%, type: Empty, message: out of stock}}
  mail: {payload: uniform:100B..1kB}
arrivals: poisson:200/s
`,
	"orders.ir": `fn main(input: [order, lines], output: [done]):
    receipt = @charge(order=order) [Network -> retry: 5, backoff: 1ms]
    stock = spread lines:line -> @reserve(order=order, line=line)
    mailed = @mail(receipt=receipt, stock=stock)
    return [receipt, stock, mailed]
`,
	"mixed.yaml": "about: a mix\nsizes: {default: 4}\nmix: [{scenario: orders.yaml, weight: 2}, {scenario: chain, size: = size}, {scenario: fails.yaml}]\n",
	"fails.yaml": "about: some of many fail\nprogram: fails.ir\nvariants: 4\ninput: {n: = instance}\nactions: {work: {fails: [{share: 15%, type: A}, {share: 15%, type: B}]}}\n",
	"fails.ir":   "fn main(input: [n], output: [x]):\n    x = spread range(6):i -> @work(n=n, i=i)\n",
	"vague.yaml": "about: its end is not checked\nprogram: fails.ir\ninput: {n: 1}\nactions: {work: }\nchecks: []\n",
}

// Actions of a person's own scenarios take time and fail. Every instance must end in one of the ways of the reference
// interpreter, after as many node runs.
func TestOwnScenarios(t *testing.T) {
	file := own(t, "orders.yaml", orders)
	dir := filepath.Dir(file)
	list := cases(t, bench.CaseOptions{
		Scenarios: []string{file, filepath.Join(dir, "mixed.yaml=3"), filepath.Join(dir, "fails.yaml"), filepath.Join(dir, "vague.yaml"), "chain=2"},
		Set:       []string{"items=2"},
	})
	if len(list) != 5 || len(list[0].Mix.Workloads) != 8 || list[0].Workload.Nodes != 4 || list[0].Source != file || list[1].Workload.Size != 3 {
		t.Fatalf("%d cases: %+v", len(list), list)
	}
	found := compare(t, bench.CompareConfig{
		Cases: list, Backends: specs(t, depth.Of([]string{"memory", "push:connections=2"}, few("push", "journal", "pull", "eager", "push:batch=1"))...),
		Runs: 1, MinNodes: 120, InFlight: 8, Engines: 2,
	})
	for _, s := range found.Manifest.Samples {
		if s.Scenario == "mixed" && (s.NodeRunsTotal == 0 || s.NodeRuns() == s.Instances*s.Nodes) {
			t.Errorf("%s: %d node runs of %d instances, of %d each in the mean", s.Key(), s.NodeRunsTotal, s.Instances, s.Nodes)
		}
		if s.Scenario == "orders" && (s.NodeRuns() > 4*s.Instances || s.NodeRuns() < 3*s.Instances || s.Instances%8 != 0) {
			t.Errorf("%s: %d node runs of %d instances", s.Key(), s.NodeRuns(), s.Instances)
		}
	}
}

// Wrong expectations are planted: of a failure, of its action, and of the number of node runs.
func TestWrongEndsAreSeen(t *testing.T) {
	dir := filepath.Dir(own(t, "fails.yaml", orders))
	for name, c := range map[string]struct {
		plant func(k *bench.Case)
		want  string
	}{
		"right": {func(*bench.Case) {}, ""},
		"a failure": {func(k *bench.Case) {
			for i := range k.Mix.Workloads[0].Ends { // it ends in one of several ways
				k.Mix.Workloads[0].Ends[i].Error.Message = "other"
			}
		}, "the reference interpreter gives failed with"},
		"a result": {func(k *bench.Case) {
			w := &k.Mix.Workloads[0]
			w.Ends, w.Expected = nil, []byte("[1]")
		}, " failed: "},
		"too many": {func(k *bench.Case) { k.Mix.Workloads[0].Nodes, k.Mix.Workloads[0].Optional = 9, 1 }, "node runs were applied, not 8 to 9"},
		"too few":  {func(k *bench.Case) { k.Mix.Workloads[0].Nodes, k.Mix.Workloads[0].Optional = 0, 0 }, "node runs were applied, not 0"},
		"nothing":  {func(k *bench.Case) { k.Mix.Workloads[0].Ends = nil }, "nothing says how its instances should end"},
	} {
		list := cases(t, bench.CaseOptions{Scenarios: []string{filepath.Join(dir, "fails.yaml")}})
		for i := range list[0].Mix.Workloads {
			list[0].Mix.Workloads[i] = list[0].Mix.Workloads[failing(t, &list[0])]
		}
		c.plant(&list[0])
		list[0].Mix.Order = []int{0}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
		found, err := bench.Compare(ctx, bench.CompareConfig{Cases: list, Backends: specs(t, "memory"), Runs: 1, MinNodes: 1})
		cancel()
		if err != nil {
			if c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		s := found.Manifest.Samples[0]
		if told := strings.Join(s.Warnings, "\n"); s.Valid != (c.want == "") || !strings.Contains(told, c.want) {
			t.Errorf("%s: valid %v, %s", name, s.Valid, told)
		}
	}
}

func failing(t *testing.T, k *bench.Case) int {
	t.Helper()
	for i, w := range k.Mix.Workloads {
		if w.Expected == nil {
			return i
		}
	}
	t.Fatal("no instance fails")
	return 0
}

func TestCasesOfFiles(t *testing.T) {
	file := own(t, "orders.yaml", orders)
	other := own(t, "chain.yaml", map[string]string{"chain.yaml": "about: another chain\ngenerate: {shape: chain, steps: = size}\nsizes: {default: [2, 3]}\n"})
	for want, o := range map[string]bench.CaseOptions{
		"chain 2, chain 3":        {Scenarios: []string{other}},
		"chain 7":                 {Scenarios: []string{other}, Sizes: []string{other + "=7"}},
		"chain 8":                 {Scenarios: []string{other}, Sizes: []string{"chain=8"}},
		"chain 9":                 {Scenarios: []string{other}, Sizes: []string{"9"}},
		"chain 4, chain 5":        {Scenarios: []string{"chain=4", "chain=5"}},
		"orders 1, spread 3":      {Scenarios: []string{file, "spread=3"}, Set: []string{"items=5", "rounds=1"}},
		"two scenarios are calle": {Scenarios: []string{"chain", other}},
		"two scenarios are call":  {Scenarios: []string{"chain", "chain"}},
		"--set xy: none of the scenarios has such a parameter; there are items": {Scenarios: []string{file}, Set: []string{"xy=5"}},
		"--set xy: none of the scenarios has parameters":                        {Scenarios: []string{"chain"}, Set: []string{"xy=5"}},
		"orders: size 2: the largest size is 1":                                 {Scenarios: []string{file + "=2"}},
	} {
		list, err := bench.Cases(o)
		var names []string
		for _, k := range list {
			names = append(names, k.String())
		}
		got := strings.Join(names, ", ")
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %s, want %s", o, got, want)
		}
	}
}
