package scenarios_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"pulley/scenarios"
	"pulley/scenarios/wfformat"
)

var update = flag.Bool("update", false, "write testdata/golden.json from what is built now")

// built is what a record, a chart or a published claim relies on.
type built struct {
	Scenario string          `json:"scenario"`
	Name     string          `json:"name"`
	Size     int             `json:"size"`
	Input    json.RawMessage `json:"input"`
	Expected json.RawMessage `json:"expected"`
	Nodes    int             `json:"nodes"`
	Actions  []string        `json:"actions"`
	Graph    string          `json:"graph"`
	Source   string          `json:"source"`
}

// Published figures are about these scenarios: names, sizes, inputs, results, numbers of nodes, graphs and programs.
func TestScenariosStayAsTheyWere(t *testing.T) {
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }
	var got []built
	add := func(scenario string, size int, opts scenarios.Options) {
		s, err := scenarios.Find(scenario)
		if err != nil {
			t.Fatal(err)
		}
		w, err := s.Build(size, opts)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, built{
			Scenario: scenario, Name: w.Name, Size: w.Size, Input: w.Input, Expected: w.Expected, Nodes: w.Nodes, Actions: w.Actions,
			Graph: sum(w.Graph.Text()), Source: sum(w.Source),
		})
	}
	for scenario, sizes := range map[string][]int{
		"fanout": {2, 3, 10, 50, 100, 500, 2000}, "loop": {1, 8, 32, 128}, "spread": {0, 1, 2, 10, 100, 400},
		"chain": {1, 10, 50, 200}, "diamond": {1, 2, 8, 32}, "pipeline": {0, 3, 8, 64, 256}, "trace": {8, 60, 240},
	} {
		for _, size := range sizes {
			add(scenario, size, scenarios.Options{})
		}
	}
	add("pipeline", 11, scenarios.Options{Set: map[string]string{"iterations": "3"}})
	add("pipeline", 0, scenarios.Options{Set: map[string]string{"iterations": "1"}})
	add("spread", 5, scenarios.Options{Set: map[string]string{"rounds": "3"}})
	add("trace", 40, scenarios.Options{Shape: wfformat.Layered, Seed: 4, TimeScale: 0.001})
	sortBuilt(got)
	file := "testdata/golden.json"
	if *update {
		text, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []built
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	compact := func(list []built) []string {
		var out []string
		for _, b := range list {
			text, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, string(text))
		}
		return out
	}
	if d := diff.Diff(compact(want), compact(got)); d != "" {
		t.Errorf("scenarios are not what they were (-were +are):\n%s", d)
	}
}

func sortBuilt(list []built) {
	slices.SortStableFunc(list, func(a, b built) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Size, b.Size), cmp.Compare(string(a.Input), string(b.Input)))
	})
}
