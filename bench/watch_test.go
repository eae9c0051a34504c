package bench_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/reports/record"
	"pulley/scenarios"
)

func measured(t *testing.T, source, expected string, nodes int) *record.Sample {
	t.Helper()
	g, err := graph.CompileText("watched.ir", []byte(source), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out, err := bench.Compare(ctx, bench.CompareConfig{
		Backends: specs(t, "memory"), Runs: 1, MinNodes: 1,
		Cases: []bench.Case{{Workload: scenarios.Workload{
			Name: "watched", Size: 1, Graph: g, Input: json.RawMessage(`{}`), Expected: json.RawMessage(expected), Nodes: nodes,
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &out.Manifest.Samples[0]
}

// The program has more completions than node runs of actions, and a hop after a sleep. TestLedgerHops checks that hop's time.
func TestRunsAreCountedWithoutRetriesAndSleeps(t *testing.T) {
	s := measured(t, "fn main(input: [], output: [x]):\n    x = @flaky(times=2) [retry: 2]\n    sleep 0.01\n    x = @add(a=x, b=1)\n", "4", 2)
	if !s.Valid || s.HopNS == nil {
		t.Errorf("valid %v, hops %+v, %q", s.Valid, s.HopNS, s.Warnings)
	}
}

func TestAFailedInstanceMakesTheRunInvalid(t *testing.T) {
	s := measured(t, "fn main(input: [], output: [x]):\n    x = @fail(type=\"Declined\", message=\"no\")\n", "4", 1)
	if told := strings.Join(s.Warnings, "\n"); s.Valid || !strings.Contains(told, " failed: Declined: no (@fail) at watched.ir:2:9") {
		t.Errorf("valid %v, %q", s.Valid, s.Warnings)
	}
}
