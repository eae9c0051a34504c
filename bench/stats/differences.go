package stats

import (
	"math"
	"slices"

	"pulley/reports/record"
)

// DifferenceConfidence is the confidence of Differences' intervals. A report has many rows, and each statement should hold: at
// 99 %, one in a hundred is chance if nothing differs.
const DifferenceConfidence = 0.99

var differing = []struct {
	name    string
	get     func(record.Sample) (float64, bool)
	counted bool
}{
	{record.FigureTime, timePerNode, false},
	{record.FigureRowsRead, RowsRead.PerNode, true},
	{record.FigureStatements, Statements.PerNode, true},
	{record.FigureCommits, Commits.PerNode, true},
	{record.FigureWALBytes, WALBytes.PerNode, true},
}

// Differences compares every backend with the baseline, in each scenario, size and mode in which both have valid runs, by the
// test and interval of [CompareGroups]. Runs of both sides alternate (ABBA), so that a drift of the machine affects both.
func Differences(samples []record.Sample, baseline string) []record.Difference {
	var out []record.Difference
	groups := map[record.Key][]record.Sample{}
	var order []record.Key
	for _, s := range samples {
		if !s.Valid {
			continue
		}
		if groups[s.Key()] == nil {
			order = append(order, s.Key())
		}
		groups[s.Key()] = append(groups[s.Key()], s)
	}
	for _, key := range order {
		base := key
		base.Backend = baseline
		if key.Backend == baseline || groups[base] == nil {
			continue
		}
		for _, f := range differing {
			d := record.Difference{
				Scenario: key.Scenario, Size: key.Size, Mode: key.Mode, Backend: key.Backend, Baseline: baseline, Figure: f.name, Decision: record.Unclear,
			}
			test, err := CompareGroups(collect(groups[base], f.get), collect(groups[key], f.get))
			if err != nil {
				continue // a side was not measured; its row says why
			}
			decide(&d, test, f.counted)
			out = append(out, d)
		}
	}
	return slices.Clip(out)
}

// decide compares counted figures directly if they are equal in all runs of each side.
func decide(d *record.Difference, test *RatioTest, counted bool) {
	q := Question{Test: test, Counted: counted}
	ratio := q.interval(DifferenceConfidence)
	d.Confidence, d.Warning = ratio.Confidence, ratio.Warning
	if !finite(ratio.Median) || !finite(ratio.Lo) || !finite(ratio.Hi) {
		return
	}
	d.Ratio = &record.Spread{Median: ratio.Median, Lo: ratio.Lo, Hi: ratio.Hi}
	switch {
	case ratio.Confidence < DifferenceConfidence:
	case ratio.Lo > 1:
		d.Decision = record.Worse
	case ratio.Hi < 1:
		d.Decision = record.Better
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
