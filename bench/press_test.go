package bench_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/scenarios"
)

// Under all pressures at once, the results are right, and the figures that readers distort are missing.
func TestUnderPressure(t *testing.T) {
	list := cases(t, bench.CaseOptions{Scenarios: []string{"fanout"}, Sizes: []string{"10"}})
	list[0].Pressure = scenarios.Pressure{
		HeldTransaction: true, Readers: 1, ReadEvery: time.Millisecond, Connections: 2, RoundTrip: 100 * time.Microsecond, Sleepers: 1500,
	}
	found := compare(t, bench.CompareConfig{Cases: list, Backends: specs(t, "push", "journal", "eager", "pull", "memory"), Runs: 1, InFlight: 4, MinNodes: 60})
	for i := range found.Manifest.Samples {
		s := &found.Manifest.Samples[i]
		all := strings.Join(s.Warnings, "\n")
		if s.Backend == "memory" {
			if !strings.Contains(all, "no pressure: the backend has no store") {
				t.Errorf("memory is said to be under pressure: %q", s.Warnings)
			}
			continue
		}
		if s.Counters == nil || s.Counters.RowsRead != nil || s.Counters.Commits != nil || s.Counters.WALBytes == nil ||
			!strings.Contains(all, "readers beside the load add to them") {
			t.Errorf("%s: %+v, %q", s.Backend, s.Counters, s.Warnings)
		}
	}
}

func TestPayloadsAreSmallWithoutPressure(t *testing.T) {
	list := cases(t, bench.CaseOptions{Scenarios: []string{"large-payloads"}, Sizes: []string{"2,3"}, Undisturbed: true})
	if len(list) != 4 {
		t.Fatalf("%d cases", len(list))
	}
	for i, k := range list {
		least, most := 1, 1000
		if i%2 == 1 {
			least, most = 100_000, 200_000
		}
		if n := len(k.Workload.Expected); n < least || n > most {
			t.Errorf("%v gives %d bytes; want %d to %d", k, n, least, most)
		}
	}
	if got := list[1].Pressure.String(); got != "results of const:100kB" {
		t.Errorf("it is under %q", got)
	}
	found := compare(t, bench.CompareConfig{Cases: list[1:2], Backends: specs(t, "memory"), Runs: 1, Loads: []bench.Load{bench.AloneLoad()}})
	for _, s := range found.Manifest.Samples {
		if strings.Contains(strings.Join(s.Warnings, " "), "no pressure") {
			t.Errorf("memory is said to be free of it: %q", s.Warnings)
		}
	}
}

// A scenario's own pressure and load count. It can be run without the pressure.
func TestPressureOfAScenario(t *testing.T) {
	list := cases(t, bench.CaseOptions{Scenarios: []string{"network", "chain"}, Sizes: []string{"2"}, Undisturbed: true})
	var names []string
	for _, k := range list {
		names = append(names, k.Workload.Name)
		want := map[string]string{"network": "round trips 1ms longer", "network-undisturbed": "a relay that delays nothing", "chain": "none"}
		if got := k.Pressure.String(); got != want[k.Workload.Name] {
			t.Errorf("%s is under %v", k, got)
		}
	}
	if want := []string{"network-undisturbed", "network", "chain"}; !slices.Equal(names, want) {
		t.Errorf("%q are run; want %q", names, want)
	}
	loads := []bench.Load{bench.AloneLoad(), bench.SaturatedLoad()}
	for i := range loads {
		loads[i].RunTime = 10 * time.Millisecond
	}
	for _, own := range []bool{false, true} {
		few := slices.Clone(list[2:])
		few[0].Run = scenarios.RunDefaults{InFlight: []int{1, 3, 5}, Workers: 7, Measure: 20 * time.Millisecond}
		cfg := bench.CompareConfig{Cases: few, Backends: specs(t, "memory"), Runs: 1, Loads: loads, OwnLoads: own}
		found := compare(t, cfg)
		var modes []string
		for _, s := range found.Manifest.Samples {
			modes = append(modes, s.Mode)
			if own != (s.Workers == 7) {
				t.Errorf("own loads %t: %d workers", own, s.Workers)
			}
		}
		want := []string{"alone", "saturated"}
		if own {
			want = []string{"alone", "saturated@3", "saturated@5"}
		}
		if !slices.Equal(modes, want) || cfg.Rows() != len(want) {
			t.Errorf("own loads %t: run in %q, %d rows; want %q", own, modes, cfg.Rows(), want)
		}
	}
}
