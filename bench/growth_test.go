package bench_test

import (
	"fmt"
	"testing"

	"pulley/bench"
	"pulley/internal/depth"
	"pulley/reports/record"
)

// These tests count, at a size for every day, what `pulley claims --goals` measures at full size.

// grown are the designs whose cost must grow as the nodes do.
var grown = few("push", "push:batch=1", "journal")

// Ten times as many nodes of a fan-out with its join, and of a loop, are compared.
func TestCostGrowsAsTheNodes(t *testing.T) {
	for scenario, sizes := range depth.Of(
		map[string][2]int{"fanout": {12, 120}, "loop": {4, 40}},
		map[string][2]int{"fanout": {60, 600}, "loop": {20, 200}},
	) {
		found := compare(t, bench.CompareConfig{
			Cases:    cases(t, bench.CaseOptions{Scenarios: []string{scenario}, Sizes: []string{fmt.Sprintf("%d,%d", sizes[0], sizes[1])}}),
			Backends: specs(t, grown...), Runs: 1, MinNodes: depth.Of(24, 600),
		})
		for _, backend := range grown {
			small, large := sample(t, found, scenario, backend, sizes[0]), sample(t, found, scenario, backend, sizes[1])
			for name, cost := range map[string]func(*record.Counters) int64{
				"rows written": func(c *record.Counters) int64 { return *c.RowsInserted + *c.RowsUpdated + *c.RowsDeleted },
				"rows read":    func(c *record.Counters) int64 { return *c.RowsRead },
			} {
				a := float64(cost(small.Counters)) / float64(small.NodeRuns())
				b := float64(cost(large.Counters)) / float64(large.NodeRuns())
				t.Logf("%s, %s: %.2f %s per node at size %d, %.2f at %d", scenario, backend, a, name, sizes[0], b, sizes[1])
				// A run also reads some rows that belong to no node: claims that found nothing, waits.
				const besides = 0.5
				if b > 1.15*a+besides || a <= 0 {
					t.Errorf("%s, %s: %s per node grow from %.2f to %.2f", scenario, backend, name, a, b)
				}
			}
		}
	}
}

func sample(t *testing.T, found *bench.Comparison, scenario, backend string, size int) *record.Sample {
	t.Helper()
	for i := range found.Manifest.Samples {
		if s := &found.Manifest.Samples[i]; s.Scenario == scenario && s.Backend == backend && s.Size == size {
			if s.Counters == nil || s.Counters.RowsRead == nil || s.Counters.RowsInserted == nil || s.Counters.Commits == nil {
				t.Fatalf("%s has no counters: %q", s.Key(), s.Warnings)
			}
			return s
		}
	}
	t.Fatalf("no sample of %s on %s at %d", scenario, backend, size)
	return nil
}

// Many completions meet in one join. If they waited for one another's transactions, each would have its own.
func TestAJoinSharesCommits(t *testing.T) {
	size := depth.Of(400, 2000)
	backends := []string{"push", "journal"}
	found := compare(t, bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"fanout"}, Sizes: []string{fmt.Sprint(size)}}),
		Backends: specs(t, backends...), Runs: 1, MinNodes: 1, Workers: size,
	})
	// Whether the server or this process is faster decides how many share a transaction, but not whether any do.
	most := depth.Of(0.75, 0.25)
	for _, backend := range backends {
		s := sample(t, found, "fanout", backend, size)
		if perNode := float64(*s.Counters.Commits) / float64(s.NodeRuns()); perNode > most {
			t.Errorf("%s: %.2f commits per completion", backend, perNode)
		}
	}
}

// Every instance must end right, every engine work, no deadlock occur, and no client be forgotten.
func TestSeveralEngines(t *testing.T) {
	backends := append([]string{"memory"}, few("push", "eager", "pull")...)
	found := compare(t, bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"10"}}),
		Backends: specs(t, backends...), Runs: 1, Engines: 4, InFlight: 40, Workers: 20, MinNodes: depth.Of(400, 4000),
	})
	for i := range found.Manifest.Samples {
		s := &found.Manifest.Samples[i]
		if s.Engines != 4 || s.Fairness == nil || s.Fairness.Instances == nil || s.Fairness.Engines == nil && s.Counters != nil {
			t.Errorf("%s: %d engines, fairness %+v", s.Backend, s.Engines, s.Fairness)
			continue
		}
		clients, engines := *s.Fairness.Instances, 1.0
		if s.Fairness.Engines != nil { // without a server, one engine may finish before the others have begun
			engines = *s.Fairness.Engines
		}
		t.Logf("%s: between clients %.2f, between engines %.2f", s.Backend, clients, engines)
		// The distance between clients depends on the machine, too: only at night it has a bound.
		if clients < 1 || clients > 20 && depth.Night() || engines < 1 {
			t.Errorf("%s: fairness %v between clients, %v between engines", s.Backend, clients, engines)
		}
		if s.Counters != nil && (s.Counters.Deadlocks == nil || *s.Counters.Deadlocks != 0) {
			t.Errorf("%s: %v deadlocks", s.Backend, *s.Counters.Deadlocks)
		}
	}
}

// More instances than workers are in flight before the first action returns.
func TestHold(t *testing.T) {
	backends := []string{"memory", "push"}
	found := compare(t, bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"3"}}),
		Backends: specs(t, backends...), Runs: 1, InFlight: 300, Workers: 10, MinNodes: 900, HoldTransaction: true,
	})
	for _, s := range found.Manifest.Samples {
		if s.Instances != 300 || len(s.InstanceNS) != 300 {
			t.Errorf("%s: %d instances, %d ends", s.Backend, s.Instances, len(s.InstanceNS))
		}
	}
}

// Each row of a server has the figure, whatever the server has loaded.
func TestStatementsAreCountedEverywhere(t *testing.T) {
	found := compare(t, bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"10"}}),
		Backends: specs(t, few("push", "eager", "pull", "journal")...), Runs: 1, MinNodes: 20,
	})
	for _, row := range found.Summary.Rows {
		if row.StatementsPerNode == nil || *row.StatementsPerNode < 0.5 {
			t.Errorf("%s: %v statements per node: %q", row.Backend, row.StatementsPerNode, row.Warnings)
		}
	}
}
