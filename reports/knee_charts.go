package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pulley/reports/chart"
	"pulley/reports/record"
	"pulley/reports/units"
)

// KneeCharts returns all charts of a report on knees.
func KneeCharts(r *record.KneeReport) (out []*chart.Plot) {
	for i := range r.Knees {
		if c := KneeChart(&r.Knees[i]); c != nil {
			out = append(out, c)
		}
	}
	for i := range r.Scalings {
		if c := ScalingChart(&r.Scalings[i]); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// KneeChartName names a chart by its content, scenario, size and backend.
func KneeChartName(what, scenario string, size int, backend string) string {
	return chart.FileName(fmt.Sprintf("%s-%s-%d-%s", what, scenario, size, backend))
}

// KneeChart draws latency over the rate, with the objective and the knee's bounds; nil without latencies.
func KneeChart(k *record.Knee) *chart.Plot {
	at := percentileText(k)
	series := kneeSeries(k)
	p := &chart.Plot{
		Name: KneeChartName("knee", k.Scenario, k.Size, k.Backend), Says: KneeSentence(k),
		Title:  fmt.Sprintf("%s %s on %s: latency over rate", units.Clip(k.Scenario, mentionMax), units.Thousands(int64(k.Size)), units.Clip(k.Backend, mentionMax)),
		X:      chart.Axis{Label: "instances / s", Scale: chart.Linear},
		Y:      chart.Axis{Label: "latency", Scale: chart.Log, Unit: units.Nanoseconds},
		Method: fmt.Sprintf("Open loop: %s arrivals; latency from the intended times. Large markers are medians over the runs at a rate, small ones single runs.", k.Arrivals),
		Series: series,
	}
	if p.Empty() {
		return nil
	}
	if len(k.Objectives) > 0 {
		p.Rules = []chart.Rule{{At: float64(k.Objectives[0].MostNS), Name: "objective: " + at}}
	}
	if k.Kind == "found" {
		p.Bands = []chart.Band{{From: *k.HoldsPerS, To: *k.BreaksPerS, Name: "knee"}}
	}
	return p
}

// kneeSeries are single runs, medians of the asked percentile and of p50, closed loops, and the rates that were too much.
func kneeSeries(k *record.Knee) []chart.Series {
	at := percentileText(k)
	single := chart.Series{Name: at + ", single runs", Kind: chart.Dots, Style: 5}
	median := chart.Series{Name: at + ", open loop", Kind: chart.Lines}
	p50 := chart.Series{Name: "p50, open loop", Kind: chart.Lines, Style: 1}
	closed := chart.Series{Name: at + ", closed loop", Kind: chart.Lines, Style: 2}
	overload := chart.Series{Name: "overload", Kind: chart.Dots, Style: 6}
	var highest float64
	add := func(s *chart.Series, x, y float64, note string) {
		if y > 0 && !math.IsInf(y, 0) {
			s.Points = append(s.Points, chart.Point{X: x, Y: y, Note: note})
			highest = max(highest, y)
		}
	}
	for i := range k.Points {
		p := &k.Points[i]
		for j := range p.Runs {
			if r := &p.Runs[j]; r.Valid && !r.Overloaded {
				add(&single, p.RatePerS, orNaN(r.AtNS), "")
			}
		}
		note := p.Verdict + ", " + units.Plural(len(p.Runs), "run")
		add(&median, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.AtNS) }), note)
		add(&p50, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.P50NS) }), note)
	}
	loops := slices.Clone(k.Closed)
	slices.SortStableFunc(loops, func(a, b record.KneeRun) int { return cmp.Compare(a.InFlight, b.InFlight) })
	for i := range loops {
		if r := &loops[i]; r.Valid {
			add(&closed, r.AchievedPerS, orNaN(r.AtNS), units.Plural(r.InFlight, "instance")+" in flight")
		}
	}
	for i := range k.Points {
		for _, r := range k.Points[i].Runs {
			if r.Valid && r.Overloaded && highest > 0 { // their latencies depend on how long a run lasts: they stand at the top
				overload.Points = append(overload.Points, chart.Point{X: k.Points[i].RatePerS, Y: highest, Note: "the backlog grew"})
			}
		}
	}
	return []chart.Series{closed, p50, median, single, overload}
}

// kept returns the runs with meaningful latencies: those of an overloaded run depend on its length.
func kept(runs []record.KneeRun) (out []record.KneeRun) {
	for _, r := range runs {
		if r.Valid && !r.Overloaded {
			out = append(out, r)
		}
	}
	return out
}

// ScalingChart draws throughput over the scaled number, with the law and its band; nil without measurements.
func ScalingChart(s *record.Scaling) *chart.Plot {
	p := &chart.Plot{
		Name: KneeChartName("scaling-"+s.What, s.Scenario, s.Size, s.Backend), Says: ScalingSentence(s),
		Title: fmt.Sprintf("%s %s on %s: throughput over %s", units.Clip(s.Scenario, mentionMax), units.Thousands(int64(s.Size)), units.Clip(s.Backend, mentionMax), s.What),
		X:     chart.Axis{Label: s.What, Scale: chart.Linear}, Y: chart.Axis{Label: "instances / s", Scale: chart.Linear},
	}
	runs := chart.Series{Name: "runs", Kind: chart.Dots}
	for _, r := range s.Runs {
		if r.Valid {
			runs.Points = append(runs.Points, chart.Point{X: float64(r.N), Y: r.PerS})
		}
	}
	if len(runs.Points) == 0 {
		return nil
	}
	if l := s.Law; l != nil {
		around := chart.Series{Name: "95 % band", Kind: chart.Area, Style: 4}
		law := chart.Series{Name: "Universal Scalability Law", Kind: chart.Lines, Style: 2}
		for _, pt := range l.Curve {
			around.Points = append(around.Points, chart.Point{X: pt.N, Lo: pt.Lo, Hi: pt.Hi})
			law.Points = append(law.Points, chart.Point{X: pt.N, Y: pt.PerS})
		}
		p.Series = append(p.Series, around, law)
		if v := l.Peak.Value; l.Determined && v != nil {
			p.Rules = []chart.Rule{{At: *v, Upright: true, Name: "peak"}}
		}
	}
	p.Series = append(p.Series, runs)
	return p
}
