package bench_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/reports/record"
)

// Each row names its mode, runs have the requested length, pilots do not count, and no more instances are in flight than
// allowed.
func TestBothModes(t *testing.T) {
	alone, saturated := bench.AloneLoad(), bench.SaturatedLoad()
	alone.RunTime, saturated.RunTime = 10*time.Millisecond, 20*time.Millisecond
	saturated.InFlight, saturated.NodesInFlight = 100, 400
	list, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"chain", "fanout"}, Sizes: []string{"chain=2", "fanout=10"}})
	if err != nil {
		t.Fatal(err)
	}
	const runs = 2
	seen := map[string]int{}
	found, err := bench.Compare(context.Background(), bench.CompareConfig{
		Cases: list, Backends: specs(t, "memory"), Runs: runs, Loads: []bench.Load{alone, saturated},
		Progress: func(p bench.Progress) {
			if p.Run == 0 {
				seen["pilots"]++
			}
			if p.Total != 2*2*runs {
				t.Errorf("of %d runs; want %d", p.Total, 2*2*runs)
			}
		},
	})
	if err != nil || !found.Valid() {
		t.Fatalf("%v: %+v", err, found)
	}
	if len(found.Summary.Rows) != 4 || len(found.Manifest.Samples) != 4*runs {
		t.Fatalf("%d rows of %d samples; want 4 of %d", len(found.Summary.Rows), len(found.Manifest.Samples), 4*runs)
	}
	if seen["pilots"] < 4 {
		t.Errorf("%d pilots; want one for each row at least", seen["pilots"])
	}
	for _, s := range found.Manifest.Samples {
		least, most := 1, 1
		if s.Mode == record.ModeSaturated {
			least, most = 8, 100
			if s.Nodes == 10 {
				most = 40
			}
		}
		if s.InFlight < least || s.InFlight > most || s.Instances < s.InFlight {
			t.Errorf("%s: %d in flight, want %d to %d; %d instances", s.Key(), s.InFlight, least, most, s.Instances)
		}
	}
}

func TestLoadsAreRefused(t *testing.T) {
	list, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"2"}})
	if err != nil {
		t.Fatal(err)
	}
	for want, loads := range map[string][]bench.Load{
		"the mode saturated is there twice": {{InFlight: 2}, {InFlight: 3}},
		`the mode is "fast"`:                {{Mode: "fast"}},
		"alone is one, not 2":               {{Mode: record.ModeAlone, InFlight: 2}},
		"-1 workers":                        {{Workers: -1}},
		"must not be negative":              {{NodesInFlight: -1}},
		"up to an hour":                     {{RunTime: 2 * time.Hour}},
	} {
		_, err := bench.Compare(context.Background(), bench.CompareConfig{Cases: list, Backends: specs(t, "memory"), Runs: 1, Loads: loads})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// A scheduler that a pilot shows to be slow has fewer instances in flight, so that a run ends in time. A requested number
// stands.
func TestSlowSchedulersHaveFewerInFlight(t *testing.T) {
	saturated := bench.SaturatedLoad() // 500 instances or 50,000 nodes in flight, runs of 2 s
	chosen := saturated
	chosen.NodesInFlight = 0
	counted := saturated
	counted.RunTime, counted.MinNodes = 0, 100_000
	for _, c := range []struct {
		name                string
		load                bench.Load
		nodes               int
		perS                float64
		instances, inFlight int
	}{
		{"before the pilot", saturated, 10, 0, 16, 16},
		{"large instances before the pilot", saturated, 50_000, 0, 8, 8},
		{"fast", saturated, 10, 1000, 2000, 500},
		{"just fast enough", saturated, 10, 62.5, 500, 500},
		{"slow", saturated, 10, 10, 80, 80},
		{"very slow", saturated, 10, 0.5, 8, 8},
		{"large and fast", saturated, 1000, 1000, 2000, 50},
		{"large and slow", saturated, 1000, 3, 24, 24},
		{"a number that was asked for, before the pilot", chosen, 10, 0, 500, 500},
		{"a number that was asked for, slow", chosen, 10, 0.5, 500, 500},
		{"a number of nodes instead of a time", counted, 1000, 0, 100, 50},
	} {
		if instances, inFlight := bench.PlanOf(c.load, c.nodes, c.perS); instances != c.instances || inFlight != c.inFlight {
			t.Errorf("%s: %d instances, %d in flight; want %d and %d", c.name, instances, inFlight, c.instances, c.inFlight)
		}
	}
}

// Pilots have up to eight times as many instances, in flight or in all, until one shows how fast a scheduler is; and they end.
func TestPilotsGrow(t *testing.T) {
	fixed := func(perS float64) func(int) float64 { return func(int) float64 { return perS } }
	saturated := bench.SaturatedLoad() // 500 instances in flight, runs of 2 s
	for _, c := range []struct {
		name                string
		load                bench.Load
		perS                func(inFlight int) float64
		starts              time.Duration
		pilots              [][2]int
		instances, inFlight int
	}{
		{"so slow that the first is believed", saturated, fixed(0.5), 0, [][2]int{{16, 16}}, 8, 8},
		{"slow, and cold at first", saturated, fixed(2), 0, [][2]int{{16, 16}, {16, 16}}, 16, 16},
		{"faster with more in flight", saturated, func(n int) float64 { return 10 * float64(n) }, 0, [][2]int{{16, 16}, {128, 128}, {500, 500}, {4000, 500}}, 10_000, 500},
		{"rather slow", saturated, fixed(4), 0, [][2]int{{16, 16}, {32, 32}}, 32, 32},
		{"so fast that starting is all that it takes", saturated, fixed(1e6), 10 * time.Millisecond,
			[][2]int{{16, 16}, {128, 128}, {500, 500}, {4000, 500}}, 571_429, 500},
		{"alone", bench.AloneLoad(), fixed(100), 0, [][2]int{{1, 1}, {8, 1}}, 50, 1},
	} {
		pilots, instances, inFlight := bench.Pilots(c.load, 10, c.perS, c.starts)
		if !slices.Equal(pilots, c.pilots) || instances != c.instances || inFlight != c.inFlight {
			t.Errorf("%s: pilots %v, then %d instances, %d in flight; want %v, %d and %d", c.name, pilots, instances, inFlight, c.pilots, c.instances, c.inFlight)
		}
	}
}

func TestEstimate(t *testing.T) {
	list, err := bench.Cases(bench.CaseOptions{Scenarios: []string{"chain"}, Sizes: []string{"2,3"}})
	if err != nil {
		t.Fatal(err)
	}
	cfg := bench.CompareConfig{Cases: list, Backends: specs(t, "memory", "push"), Runs: 6, Loads: []bench.Load{{InFlight: 1, RunTime: time.Minute}}}
	took, known := cfg.Estimate()
	if least, most := 4*6*time.Minute, 4*7*time.Minute; !known || took < least || took > most {
		t.Errorf("24 runs of a minute take %v (%v); want from %v to %v", took, known, least, most)
	}
	cfg.Ceilings = time.Second
	if more, _ := cfg.Estimate(); more <= took {
		t.Error("ceilings take no time")
	}
	cfg.Loads[0].RunTime = 0
	if _, known := cfg.Estimate(); known {
		t.Error("it is known how long runs take that have a number of nodes")
	}
}
