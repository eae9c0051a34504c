package bench_test

import (
	"strings"
	"testing"

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
	memory, err := systems.Greet(t.Context(), "", []string{"python3", "systems/testdata/memory.py"})
	if err != nil {
		t.Fatal(err)
	}
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
