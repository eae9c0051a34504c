package bench_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulley/adapter/protocol"
	"pulley/bench"
	"pulley/bench/systems"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

// A system behind an adapter is run as designs are, with the slots and settings that a search found; what does not work is passed
// over, and what it cannot run is named.
func TestCompareSystems(t *testing.T) {
	t.Parallel()
	memory := greetMemory(t)
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"loop=3"}})
	if err != nil {
		t.Fatal(err)
	}
	single := memory
	single.Name, single.Hello = "single", new(protocol.Hello)
	*single.Hello = *memory.Hello
	single.Hello.Shapes = single.Hello.Shapes[1:]
	alone, saturated := bench.AloneLoad(), bench.SaturatedLoad()
	alone.RunTime, alone.MinNodes = 0, 12
	saturated.RunTime, saturated.MinNodes, saturated.InFlight, saturated.Workers = 0, 60, 5, 500
	found, err := bench.Compare(t.Context(), bench.CompareConfig{
		Cases: cases, Systems: []systems.System{memory, single}, Tune: true, Runs: 1, DSN: pgtest.DSN(t), Loads: []bench.Load{alone, saturated},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := found.Manifest
	if len(m.Samples) != 2 || !found.Valid() {
		t.Errorf("%d samples, valid %t: %v", len(m.Samples), found.Valid(), m.Warnings)
	}
	for _, s := range m.Samples {
		if s.Counters == nil || s.NodesPerS <= 0 || (s.HopNS != nil) != (s.Mode == record.ModeAlone) {
			t.Errorf("%s: %+v", s.Key(), s)
		}
	}
	if len(m.Systems) != 2 || len(m.Systems[0].Chosen) != 2 {
		t.Fatalf("the record has the systems %+v", m.Systems)
	}
	for _, c := range m.Systems[0].Chosen {
		if c.Settings["pause_ms"] != "0" || c.Slots > 100 || c.Tried < 4 || c.NodesPerS <= 0 {
			t.Errorf("the search chose %+v", c)
		}
	}
	if text := strings.Join(m.Warnings, "\n"); !strings.Contains(text, "loop 3 is left out for single: memory cannot run loop: it has no [graph]") {
		t.Errorf("the warnings are %s", text)
	}
}

// A testbed puts load on a system behind an adapter as it does on engines, run after run; a search comes before, if one is wanted.
func TestOpenRunsOnASystem(t *testing.T) {
	t.Parallel()
	memory := greetMemory(t)
	memory.Settings = map[string]string{"slots_most": "40"}
	spec := bench.TestbedSpec{Case: cases(t, bench.CaseOptions{Scenarios: []string{"chain=3"}})[0], System: &memory, DSN: pgtest.DSN(t)}
	spec, err := bench.Tune(t.Context(), spec, 50*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := spec.RecordSystem().Chosen; len(c) != 1 || c[0].Settings["pause_ms"] != "0" || spec.Workers > 40 {
		t.Errorf("the search chose %+v, and %d slots", c, spec.Workers)
	}
	bed := testbed(t, spec)
	for _, text := range []string{"constant:50/s", "closed:4"} {
		found := put(t, bed, text, bench.OpenRun{WarmUp: 200 * time.Millisecond, WarmUpFixed: true, Measure: 800 * time.Millisecond, Drain: drainPatience, Percentile: 50, Seed: 1})
		w := found.Whole
		if w.Ended != w.Intended || w.Sent != w.Ended || w.Dropped+w.Unfinished > 0 || w.Ended < 8 || !found.Valid {
			t.Errorf("%s: %+v, %+v", text, w, found.Findings)
		}
		if found.Backend != "memory" || found.Nodes != 3 || found.System == nil || found.System.Settings["pause_ms"] != "0" {
			t.Errorf("%s: the record has %s, %d nodes and %+v", text, found.Backend, found.Nodes, found.System)
		}
	}
}

// What a system does wrong under load makes the run invalid, and the testbed gets a new store for the next run.
func TestOpenRunsFindMistakesOfASystem(t *testing.T) {
	t.Parallel()
	memory := greetMemory(t)
	memory.Settings = map[string]string{"fault": "sum", "pause_ms": "0"}
	bed := testbed(t, bench.TestbedSpec{Case: cases(t, bench.CaseOptions{Scenarios: []string{"chain=3"}})[0], System: &memory, DSN: pgtest.DSN(t)})
	found := put(t, bed, "constant:50/s", bench.OpenRun{Measure: 500 * time.Millisecond, Drain: drainPatience, Percentile: 50})
	if found.Valid || !strings.Contains(fmt.Sprint(found.Findings), "the sum is 5, not ") {
		t.Errorf("the findings are %+v", found.Findings)
	}
}

func greetMemory(t *testing.T) systems.System {
	t.Helper()
	memory, err := systems.Greet(t.Context(), "", []string{"python3", "systems/testdata/memory.py"})
	if err != nil {
		t.Fatal(err)
	}
	return memory
}
