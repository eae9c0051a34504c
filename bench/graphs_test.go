package bench_test

import (
	"slices"
	"strings"
	"testing"

	"pulley/bench"
	"pulley/reports/record"
	"pulley/scenarios"
)

// The counts were made by hand.
func TestInstanceWrites(t *testing.T) {
	for word, want := range map[string]record.InstanceWrites{
		"chain=10":  {Nodes: 10},                                      // results are handed over
		"fanout=10": {Nodes: 10, Elements: 7, Raises: 8, Counters: 1}, // one to eight to one; the counter is opened, and the last of eight stands in no row
		"diamond=2": {Nodes: 16, Values: 15, Raises: 8, Counters: 2},
		"loop=8":    {Nodes: 24, Values: 17},
		"trace=60":  {Nodes: 60, Values: 58, Raises: 96, Counters: 45},
	} {
		k := cases(t, bench.CaseOptions{Scenarios: []string{word}})[0]
		got, err := k.InstanceWrites(t.Context())
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", word, got, err, want)
		}
	}
}

func TestInstanceWritesOfAMix(t *testing.T) {
	of := func(word string) scenarios.Workload {
		return cases(t, bench.CaseOptions{Scenarios: []string{word}})[0].Workload
	}
	k := bench.CaseOf(&scenarios.Mix{Name: "both", Workloads: []scenarios.Workload{of("chain=10"), of("fanout=10")}, Order: []int{0, 1, 1}}, "")
	got, err := k.InstanceWrites(t.Context())
	if want := (record.InstanceWrites{Nodes: 10, Elements: 5, Raises: 5, Counters: 1}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// Similar graphs share the higher ceiling, and there are at most twelve.
func TestGraphsAreFew(t *testing.T) {
	chain, fanout := record.InstanceWrites{Nodes: 100}, record.InstanceWrites{Nodes: 100, Elements: 97, Raises: 98, Counters: 1}
	same := record.InstanceWrites{Nodes: 200, Elements: 197, Raises: 198, Counters: 1}
	if got := bench.Graphs([]record.InstanceWrites{chain, fanout, same, chain}); !slices.Equal(got, []record.InstanceWrites{chain, same}) {
		t.Errorf("got %+v", got)
	}
	var many []record.InstanceWrites
	for i := range 30 {
		many = append(many, record.InstanceWrites{Nodes: 100, Values: 10 * i})
	}
	got := bench.Graphs(many)
	if len(got) != 12 || got[0] != many[0] || !slices.IsSortedFunc(got, func(a, b record.InstanceWrites) int { return a.Values - b.Values }) {
		t.Errorf("%d graphs: %+v", len(got), got)
	}
}

func TestWritesThatCannotBeFound(t *testing.T) {
	broken := cases(t, bench.CaseOptions{Scenarios: []string{"chain=5"}})[0]
	broken.Workload.Input = []byte("7")
	if _, err := broken.InstanceWrites(t.Context()); err == nil || !strings.Contains(err.Error(), "chain 5") {
		t.Errorf("an instance without an input writes: %v", err)
	}
}
