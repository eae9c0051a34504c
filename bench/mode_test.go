package bench_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pulley/bench"
	"pulley/reports/record"
)

// TestBothModes compares in both modes: each row says which it is of, runs have the length that was asked for, the pilots
// that find it do not count, and so many instances are in flight as there may be.
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
		want := map[string]int{"alone": 1, "saturated": 100}[s.Mode]
		if s.Mode == record.ModeSaturated && s.Nodes == 10 {
			want = 40 // 400 node runs
		}
		if s.InFlight != want || s.Instances < want {
			t.Errorf("%s: %d in flight, want %d; %d instances", s.Key(), s.InFlight, want, s.Instances)
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

// TestEstimate holds the estimate against what it is made of.
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
