package changes

import (
	"fmt"
	"slices"

	"pulley/bench/gate"
	"pulley/bench/stats"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// shiftQuantiles are those at which a shift is shown.
var shiftQuantiles = []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}

const (
	// shiftsMost bounds the pictures, those of rows that changed first: each takes a good part of a second.
	shiftsMost = 12
	// shiftValues bounds the times of a run that count; of more, every second, third and so on in order of size counts.
	shiftValues = 1000
	shiftDraws  = 1000
	// shiftSeed: the same records give the same page.
	shiftSeed = 1
)

// shiftSection has the shift function of instance latency for the rows that both sides measured.
func shiftSection(decided *gate.Report, before, after []gate.Run) page.Section {
	a, b := timesOf(before), timesOf(after)
	var charts []*chart.Plot
	left := 0
	for _, row := range rowsOf(decided) {
		if len(a[row]) < 2 || len(b[row]) < 2 {
			continue
		}
		if len(charts) == shiftsMost {
			left++
			continue
		}
		if c := shiftChart(row, len(charts), a[row], b[row]); c != nil {
			charts = append(charts, c)
		}
	}
	s := page.Section{
		ID: "shift", Title: "How latency shifts",
		Lead: fmt.Sprintf("Shift functions: for each share of the instances, how much longer the candidate takes than the baseline at that quantile, below zero if it is faster. "+
			"The band holds each difference with %s confidence: BCa bootstrap, %s draws of whole runs, since times within a run go together.", units.Percent(stats.Confidence), units.Thousands(shiftDraws)),
	}
	s.Lead += fmt.Sprintf(" Of runs with more than %s instances, evenly spaced quantiles stand for all times.", units.Thousands(shiftValues))
	if left > 0 {
		s.Lead += fmt.Sprintf(" %s more are not drawn.", units.Plural(left, "row"))
	}
	if len(charts) > 0 {
		s.Blocks = []page.Block{{Charts: charts}}
	}
	return s
}

// timesOf has the instance times of each valid run, by row.
func timesOf(runs []gate.Run) map[string][][]float64 {
	out := map[string][][]float64{}
	for _, r := range runs {
		for i := range r.Manifest.Samples {
			s := &r.Manifest.Samples[i]
			if !s.Valid || len(s.InstanceNS) == 0 {
				continue
			}
			var times []float64
			for _, ns := range s.InstanceNS {
				times = append(times, float64(ns))
			}
			out[gate.RowName(s)] = append(out[gate.RowName(s)], times)
		}
	}
	return out
}

// rowsOf are the rows of both sides, those of which a time changed first.
func rowsOf(decided *gate.Report) (out []string) {
	for _, only := range []bool{true, false} {
		for _, l := range changedFirst(decided.Lines) {
			timed := l.Unit == gate.UnitSeconds && (l.Decision == record.Worse || l.Decision == record.Better)
			if timed == only && !slices.Contains(out, l.Row) {
				out = append(out, l.Row)
			}
		}
	}
	return out
}

// fewer keeps the same share of each run, so that runs keep their weights.
func fewer(sides ...[][]float64) [][][]float64 {
	most := 0
	for _, runs := range sides {
		for _, times := range runs {
			most = max(most, len(times))
		}
	}
	step := max((most+shiftValues-1)/shiftValues, 1)
	var out [][][]float64
	for _, runs := range sides {
		var kept [][]float64
		for _, times := range runs {
			sorted := slices.Sorted(slices.Values(times))
			var some []float64
			for i := step / 2; i < len(sorted); i += step {
				some = append(some, sorted[i])
			}
			kept = append(kept, some)
		}
		out = append(out, kept)
	}
	return out
}

func shiftChart(row string, n int, before, after [][]float64) *chart.Plot {
	sides := fewer(before, after)
	band := chart.Series{Name: "95 % band", Kind: chart.Area, Style: 0}
	line := chart.Series{Name: "candidate − baseline", Kind: chart.Lines, Style: 0}
	p := &chart.Plot{
		Name: fmt.Sprintf("shift-%d-%s", n+1, chart.FileName(row)), Title: row + ": instance latency",
		X:     chart.Axis{Label: "share of the instances", Scale: chart.Linear, Unit: units.Share},
		Y:     chart.Axis{Label: "candidate − baseline", Scale: chart.Linear, Unit: units.Nanoseconds},
		Rules: []chart.Rule{{At: 0, Name: "no change"}},
	}
	var said string
	for _, q := range shiftQuantiles {
		got, err := (stats.Bootstrap{Seed: shiftSeed, Resamples: shiftDraws}).QuantileShift(sides[0], sides[1], false, q, stats.Confidence)
		if err != nil {
			continue
		}
		note := fmt.Sprintf("%s [%s]", units.Duration(got.Median), units.Span(got.Lo, got.Hi, units.Duration))
		line.Points = append(line.Points, chart.Point{X: q, Y: got.Median, Note: note})
		band.Points = append(band.Points, chart.Point{X: q, Lo: got.Lo, Hi: got.Hi})
		if name := map[float64]string{0.5: "The median", 0.99: " The 99th percentile"}[q]; name != "" {
			said += fmt.Sprintf("%s is %s [%s].", name, longer(got.Median), units.Span(got.Lo, got.Hi, units.Duration))
		}
		p.Method = fmt.Sprintf("%d runs of the baseline against %d of the candidate, BCa bootstrap over runs.", len(before), len(after))
		if got.Warning != "" {
			p.Method += " Doubt: " + got.Warning + "."
		}
	}
	p.Series, p.Says = []chart.Series{band, line}, said
	if p.Empty() {
		return nil
	}
	return p
}

func longer(ns float64) string {
	switch {
	case ns > 0:
		return units.Duration(ns) + " longer"
	case ns < 0:
		return units.Duration(-ns) + " shorter"
	}
	return "as long"
}
