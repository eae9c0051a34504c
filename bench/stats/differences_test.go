package stats_test

import (
	"math/rand/v2"
	"testing"

	"pulley/bench/stats"
	"pulley/reports/record"
)

// runsOf makes runs runs of each backend in turn, whose rates are drawn around a mean by noise.
func runsOf(runs int, rate map[string]float64, noise func() float64) []record.Sample {
	var out []record.Sample
	for run := range runs {
		for _, backend := range []string{"push", "pull"} {
			rows := int64(map[string]int{"push": 300, "pull": 900}[backend])
			out = append(out, record.Sample{
				Scenario: "fanout", Backend: backend, Size: 100, Mode: record.ModeSaturated, Run: run + 1, Instances: 1, Nodes: 100, Valid: true,
				NodesPerS: rate[backend] * noise(), Counters: &record.Counters{RowsRead: &rows},
			})
		}
	}
	return out
}

func difference(t *testing.T, list []record.Difference, figure string) record.Difference {
	t.Helper()
	for _, d := range list {
		if d.Figure == figure {
			return d
		}
	}
	t.Fatalf("no difference of %s in %+v", figure, list)
	return record.Difference{}
}

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		pull float64
		runs int
		want record.Decision
	}{
		"slower":     {700, 6, record.Worse},
		"faster":     {1400, 6, record.Better},
		"alike":      {1000, 6, record.Unclear},
		"two runs":   {100, 2, record.Unclear}, // chance gives any difference once in three times
		"three runs": {100, 3, record.Unclear},
	} {
		r := rand.New(rand.NewPCG(1, 2)) // one per case, so that their order does not matter
		noise := func() float64 { return 1 + 0.05*r.NormFloat64() }
		list := stats.Differences(runsOf(c.runs, map[string]float64{"push": 1000, "pull": c.pull}, noise), "push")
		d := difference(t, list, record.FigureTime)
		if d.Decision != c.want || d.Backend != "pull" || d.Baseline != "push" || d.Mode != record.ModeSaturated {
			t.Errorf("%s: %+v; want %s", name, d, c.want)
		}
		if ratio := 1000 / c.pull; d.Ratio.Lo > ratio*1.1 || d.Ratio.Hi < ratio*0.9 {
			t.Errorf("%s: the ratio is %+v; want about %.3g", name, *d.Ratio, ratio)
		}
		// Counts that are equal in all runs need no test.
		if d := difference(t, list, record.FigureRowsRead); d.Decision != record.Worse || d.Ratio.Median < 2.99 || d.Ratio.Median > 3.01 {
			t.Errorf("%s: rows read %+v", name, d)
		}
	}
}

// Invalid runs, and what only one side has, must not be compared.
func TestDifferencesLeaveOut(t *testing.T) {
	samples := runsOf(6, map[string]float64{"push": 1000, "pull": 500}, func() float64 { return 1 })
	if list := stats.Differences(samples, "eager"); len(list) != 0 {
		t.Errorf("held against a backend that was not run: %+v", list)
	}
	for i := range samples {
		samples[i].Valid = samples[i].Backend == "push"
	}
	if list := stats.Differences(samples, "push"); len(list) != 0 {
		t.Errorf("invalid runs were compared: %+v", list)
	}
}

// Backends are equal, with realistic noise: an occasional run is much slower.
func TestDifferencesRaiseFewAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := func() float64 {
		if r.IntN(5) == 0 {
			return 0.6
		}
		return 1 + 0.1*r.NormFloat64()
	}
	const comparisons = 2000
	alarms := 0
	for range comparisons {
		if difference(t, stats.Differences(runsOf(6, map[string]float64{"push": 1000, "pull": 1000}, noise), "push"), record.FigureTime).Decision != record.Unclear {
			alarms++
		}
	}
	// At a rate of 1 %, 29 or more of 2,000 have a probability below 5 %.
	if alarms > 29 {
		t.Errorf("%d of %d comparisons of the same showed a difference", alarms, comparisons)
	}
}
