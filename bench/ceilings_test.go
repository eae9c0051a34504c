package bench_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pulley/bench"
	"pulley/bench/ceiling"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
	"pulley/scenarios"
)

func TestCeilingOfABackend(t *testing.T) {
	for text, want := range map[string]string{
		"push": record.CeilingBatched, "push:batch=1": record.CeilingCall, "push:shards=2": record.CeilingBatched, "eager": record.CeilingBatched,
		"eager:batch=1": record.CeilingCall, "pull": record.CeilingCall, "pull:scan=sql": record.CeilingCall, "pull:batch=256": record.CeilingBatched,
		"journal": record.CeilingPacked, "journal:batch=1": record.CeilingPacked, "memory": "", "memory:batch=1": "",
	} {
		s, err := designs.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := bench.CeilingOf(s); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, s := range designs.All() {
		if s.NeedsPostgres() != (bench.CeilingOf(s) != "") {
			t.Errorf("%s: ceiling %q", s, bench.CeilingOf(s))
		}
	}
}

func ceilingConnections() []int { return depth.Of([]int{1, 2}, nil) }

// Every row has the fraction of its own ceiling, from the same run.
func TestFractions(t *testing.T) {
	cfg := bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"fanout"}, Sizes: []string{"10"}}),
		Backends: specs(t, "push", "pull", "memory"), Runs: 1, InFlight: 2, MinNodes: 20, Ceilings: ceiling.MinDuration, CeilingConnections: ceilingConnections(),
	}
	var order []string
	cfg.Progress = func(p bench.Progress) {
		what := p.Backend
		if p.Ceiling != "" {
			what = "ceiling"
		}
		if len(order) == 0 || order[len(order)-1] != what {
			order = append(order, what)
		}
	}
	found := compare(t, cfg)
	if want := []string{"ceiling", "push", "pull", "memory", "ceiling"}; !slices.Equal(order, want) {
		t.Errorf("measured in the order %q, want %q", order, want)
	}
	c := found.Summary.Ceilings
	if c == nil || c.Measurements != 2 || len(c.Rates) != 2 || c.Latency(record.IdleTransaction) == nil {
		t.Fatalf("ceilings: %+v", c)
	}
	for backend, way := range map[string]string{"push": record.CeilingBatched, "pull": record.CeilingCall} {
		row := found.Summary.Find(record.Key{Scenario: "fanout", Backend: backend, Size: 10, Mode: record.ModeSaturated})
		if w := row.InstanceWrites; w == nil || w.Elements != 7 || *c.Rate(way).Writes != *w {
			t.Errorf("%s: instances write %+v, and the ceiling is of %+v", backend, w, c.Rate(way).Writes)
		}
		if got := c.Rate(way).NodesPerInstance; got != 10 {
			t.Errorf("%s: the ceiling is of instances of %d", backend, got)
		}
		want := row.NodesPerS.Median / c.Rate(way).NodesPerS.Median
		if row.Ceiling != way || row.CeilingFraction == nil || *row.CeilingFraction != want {
			t.Errorf("%s: held against %q, fraction %v; want %q, %v", backend, row.Ceiling, row.CeilingFraction, way, want)
		}
	}
	memory := found.Summary.Find(record.Key{Scenario: "fanout", Backend: "memory", Size: 10, Mode: record.ModeSaturated})
	if memory.CeilingFraction != nil || !slices.ContainsFunc(memory.Warnings, func(w string) bool { return strings.Contains(w, "there is no ceiling") }) {
		t.Errorf("memory: %v, %q", memory.CeilingFraction, memory.Warnings)
	}
	if !slices.ContainsFunc(found.Manifest.Methods, func(m record.Method) bool { return m.Figure == "ceiling_fraction" }) {
		t.Error("ceiling_fraction has no method")
	}
	if err := found.Write(t.TempDir()); err != nil {
		t.Error(err)
	}
}

// What was not measured is null, and the row reports it.
func TestWithoutCeilings(t *testing.T) {
	cfg := bench.CompareConfig{
		Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"5"}}),
		Backends: specs(t, "push"), Runs: 1, InFlight: 2, MinNodes: 10,
	}
	row := compare(t, cfg).Summary.Rows[0]
	if row.Ceiling != record.CeilingBatched || row.CeilingFraction != nil || !slices.Contains(row.Warnings, "ceiling_fraction is null: the ceiling was not measured") {
		t.Errorf("%q, %v, %q", row.Ceiling, row.CeilingFraction, row.Warnings)
	}
	cfg.Ceilings, cfg.DSN = 1, pgtest.DSN(t)
	if _, err := bench.Compare(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "1ns for a point of the ceilings; choose 10ms or more") {
		t.Errorf("got %v", err)
	}
}

// Interruptions come before the first run and after the last, while ceilings are measured.
func TestCutOffInTheCeilings(t *testing.T) {
	for _, runs := range []int{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		found, err := bench.Compare(ctx, bench.CompareConfig{
			Cases:    cases(t, bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"5"}}),
			Backends: specs(t, "push"), Runs: 1, MinNodes: 5, Ceilings: ceiling.MinDuration, CeilingConnections: ceilingConnections(), DSN: pgtest.DSN(t),
			Progress: func(p bench.Progress) {
				if p.Ceiling != "" && p.Done == runs {
					cancel()
				}
			},
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Manifest.Samples) != runs || found.Manifest.Interrupted != (runs == 0) {
			t.Errorf("after %d runs: interrupted %t, %d samples", runs, found.Manifest.Interrupted, len(found.Manifest.Samples))
		}
		if measured := found.Summary.Ceilings != nil; measured != (runs == 1) {
			t.Errorf("after %d runs: ceilings %+v", runs, found.Summary.Ceilings)
		}
		if err := found.Write(t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

// Similar cases share ceilings, and there are at most three.
func TestShapesAreFew(t *testing.T) {
	for _, c := range []struct{ nodes, want []int }{
		{[]int{10}, []int{10}},
		{[]int{96, 10, 100}, []int{10, 100}},
		{[]int{10, 100, 1000, 2000, 9000}, []int{10, 100, 1000}},
		{[]int{1, 2, 4, 30, 1000}, []int{4, 30, 1000}},
		{[]int{5, 8, 50, 500}, []int{8, 50, 500}},
	} {
		var list []bench.Case
		for _, n := range c.nodes {
			list = append(list, bench.Case{Workload: scenarios.Workload{Nodes: n}})
		}
		if got := bench.Shapes(list); !slices.Equal(got, c.want) {
			t.Errorf("instances of %v nodes: %v, want %v", c.nodes, got, c.want)
		}
	}
}
