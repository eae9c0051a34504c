package chaos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/scenarios"
)

// ownFiles are scenarios as a user would write them. Both describe charge, differently.
var ownFiles = map[string]string{
	"orders.yaml": `about: Orders that are charged and reserved.
program: orders.ir
parameters: {lines: 3}
variants: 8
input: {order: "= instance", lines: "= lines"}
actions:
  charge:
    service: lognormal:3ms,0.5
    fails: {share: 10%, type: Network, message: connection reset}
    gives: "= {'id': order, 'paid': True}"
  reserve: {service: exp:1ms, fails: {share: 2%, type: Empty, message: out of stock}, payload: uniform:10B..300B}
arrivals: poisson:200/s
`,
	"orders.ir": `fn main(input: [order, lines], output: [done]):
    receipt = @charge(order=order) [Network -> retry: 2, backoff: 1ms]
    stock = spread range(lines):line -> @reserve(order=order, line=line)
    return [receipt, stock]
`,
	"both.yaml":    "about: both\nmix: [{scenario: orders.yaml, weight: 2}, {scenario: small.yaml}]\n",
	"small.yaml":   "about: small\nprogram: small.ir\nactions: {charge: {gives: 5}}\n",
	"small.ir":     "fn main(input: [], output: [x]):\n    x = @charge(any=1)\n",
	"late.yaml":    "about: late\nprogram: late.ir\nactions: {charge: }\n",
	"late.ir":      "fn main(input: [], output: [x]):\n    x = @charge(any=1) [timeout: 5s]\n",
	"vague.yaml":   "about: vague\nprogram: small.ir\nactions: {charge: }\nchecks: [nodes]\n",
	"diamond.yaml": "about: a graph\ngenerate: {shape: diamond, layers: 1}\n",
}

// ownWorkload makes one of these scenarios, whose files no longer exist.
func ownWorkload(t *testing.T, name string) cases.Workload {
	t.Helper()
	dir := t.TempDir()
	for file, text := range ownFiles {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := scenarios.Find(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return cases.Workload{Scenario: s.Name, Bundle: s.Bundle()}
}

// TestOwnScenario runs a user's own scenarios under faults, in processes that have only the case.
func TestOwnScenario(t *testing.T) {
	c := easy(shortCase("push"))
	both := ownWorkload(t, "both.yaml")
	c.Workloads = []cases.Workload{both, {Scenario: "chain", Size: 2}}
	var kinds []fault.Kind
	for _, name := range []string{"wire.cut", "process.kill"} {
		kind, err := fault.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind)
	}
	c.Faults = c.Plan(kinds, 0)
	file := filepath.Join(t.TempDir(), "case.json")
	if err := c.Save(file); err != nil {
		t.Fatal(err)
	}
	loaded, err := cases.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	res := runCase(t, loaded)
	if res.Verdict != Pass {
		t.Errorf("the verdict is %s by %v, want pass: %v", res.Verdict, res.Invariants(), res.Why)
	}
	if text, err := res.JSON(); err != nil || strings.Contains(string(text), "connection reset") {
		t.Errorf("the result has the texts of scenarios: %v", err)
	}
}

// TestStreams checks that instances take the workloads of several mixes in turn.
func TestStreams(t *testing.T) {
	c := cases.Case{Workloads: []cases.Workload{ownWorkload(t, "orders.yaml"), {Scenario: "chain", Size: 2}, {Scenario: "shop", Size: 1, Set: map[string]string{"region": "us"}}}}
	s, err := c.Build(true)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Workloads) != 8+1+16 {
		t.Fatalf("%d workloads", len(s.Workloads))
	}
	for i := range 3 * 40 {
		w := s.Workloads[s.Of(i)]
		if want := []string{"orders", "chain", "shop"}[i%3]; w.Name != want {
			t.Errorf("instance %d runs %s, want %s", i, w.Name, want)
		}
		if i%3 == 0 && s.Of(i) != i/3%8 || i%3 == 2 && s.Of(i) != 9+i/3%16 || w.Ends != nil {
			t.Errorf("instance %d runs workload %d", i, s.Of(i))
		}
	}
	if !strings.Contains(string(s.Workloads[9].Input), `"us"`) {
		t.Errorf("the parameter was not set: %s", s.Workloads[9].Input)
	}
}

// TestOwnScenariosThatCannotBeJudged checks that scenarios are refused whose right result is unknown under faults.
func TestOwnScenariosThatCannotBeJudged(t *testing.T) {
	for name, want := range map[string]string{
		"late.yaml": "late.ir:2:9: @charge has a timeout of 5s, which may pass", "vague.yaml": "results are not checked", "diamond.yaml": "is a graph without a program",
	} {
		c := cases.Case{Backend: "push", Workloads: []cases.Workload{ownWorkload(t, name)}}.WithDefaults()
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	patient := cases.Case{Backend: "push", LeaseMS: 500, Workloads: []cases.Workload{ownWorkload(t, "late.yaml")}}.WithDefaults()
	if err := patient.Validate(); err != nil {
		t.Errorf("a timeout of ten leases: %v", err)
	}
	lost := ownWorkload(t, "orders.yaml")
	delete(lost.Bundle.Files, "orders.ir")
	if _, err := (cases.Case{Workloads: []cases.Workload{lost}}).Build(true); err == nil || !strings.Contains(err.Error(), "not among those that were kept") {
		t.Errorf("a case that lacks a file: %v", err)
	}
}
