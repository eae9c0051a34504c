package verdicts

import (
	"fmt"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Forecast lays out the report on a forecast. The schedule is an SVG of the first run; empty if none was drawn.
func Forecast(f *record.Forecast, schedule []byte, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "forecast", Tool: "pulley forecast", Record: files, Repeat: strings.Join(f.Command, " "), State: forecastState(f),
		Answer: fmt.Sprintf("%s on %s takes %s, %s busy.", brief(f.Scenario), units.Plural(f.Workers, "worker"), milliseconds(f.MakespanMS.Median), units.Percent(f.Utilisation.Median)),
		Facts:  []string{units.Plural(f.Instances, "instance"), units.Plural(f.Attempts, "attempt"), "service " + strings.Join(f.Service, " ")},
	}
	if f.Tool != nil {
		p.Tool = f.Tool.String()
	}
	for _, fact := range []struct{ name, text string }{{"arrivals ", f.Arrivals}, {"calls of the store ", f.Latency}} {
		if fact.text != "" {
			p.Facts = append(p.Facts, fact.name+fact.text)
		}
	}
	p.Facts = append(p.Facts, fmt.Sprintf("%s from seed %d on", units.Plural(f.Runs, "run"), f.Seed))
	p.First = append(p.First, page.Block{Charts: []*chart.Plot{boundsChart(f)}})
	if len(schedule) > 0 {
		p.First = append(p.First, page.Block{Heading: "The schedule of the first run", Drawing: &page.Drawing{SVG: schedule, Says: fmt.Sprintf("A bar for each attempt, a row for each worker. %s", p.Answer)}})
	}
	if m := f.Measured; m != nil {
		p.Add(measuredSection(f, m))
	}
	if c := timesChart(f); c != nil {
		p.Add(page.Section{ID: "times", Title: "Waiting and latency", Blocks: []page.Block{{Charts: []*chart.Plot{c}}}})
	}
	p.Add(page.Section{ID: "figures", Title: "All figures", Lead: fmt.Sprintf("Medians over the runs. In brackets stands the interval, which holds the median with %s.", units.Percent(f.Confidence)),
		Blocks: []page.Block{{Table: forecastTable(f)}}})
	p.Add(page.Section{ID: "warnings", Title: "What limits the figures", Blocks: []page.Block{{List: page.Items(f.Warnings)}}})
	p.Add(page.Section{ID: "method", Title: "How it was foretold", Blocks: []page.Block{{Text: "Workers are simulated in virtual time: the engine's own deciding code runs in a world in which nothing fails, and actions take " +
		"times that are drawn. The same work is done whatever the number of workers. No server and no network is in it, unless calls of the store are said to take time."}}})
	return p
}

func milliseconds(ms float64) string { return units.Duration(ms * 1e6) }

func forecastState(f *record.Forecast) page.State {
	s := page.State{Mark: page.Good, Text: fmt.Sprintf("makespan between %s and %s, with %s confidence", milliseconds(f.MakespanMS.Lo), milliseconds(f.MakespanMS.Hi), units.Percent(f.Confidence))}
	if f.Runs < 6 {
		s.Mark, s.Text = page.Unclear, fmt.Sprintf("%s: the interval is their range, %s to %s", units.Plural(f.Runs, "run"), milliseconds(f.MakespanMS.Lo), milliseconds(f.MakespanMS.Hi))
	} else if len(f.Warnings) > 0 {
		s.Mark, s.Text = page.Unclear, s.Text+"; see what limits the figures"
	}
	return s
}

type foretold struct {
	name, note string
	of         *record.Spread
}

func bounds(f *record.Forecast) []foretold {
	return []foretold{
		{"makespan", "", &f.MakespanMS}, {"no schedule is shorter", "", &f.Bounds.LowerMS}, {"critical path", "of an instance, with unlimited workers", f.Bounds.CriticalPathMS},
		{"work / workers", "if no worker is ever idle", &f.Bounds.AreaMS}, {"no greedy one is longer", "greedy: no worker is idle while a task is ready", f.Bounds.UpperMS},
	}
}

func boundsChart(f *record.Forecast) *chart.Plot {
	p := &chart.Plot{
		Name: "makespan", Title: "Makespan, and what no schedule can beat", Labeled: true, X: chart.Axis{Label: "virtual time", Scale: chart.Linear, Unit: units.Nanoseconds}, Y: chart.Axis{Scale: chart.Rows},
		Method: "Medians over the runs; a pale bar is the interval.", Says: fmt.Sprintf("Makespan %s; no schedule is shorter than %s.", milliseconds(f.MakespanMS.Median), milliseconds(f.Bounds.LowerMS.Median)),
	}
	for i, b := range bounds(f) {
		if b.of == nil {
			continue
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, b.name)
		p.Series = append(p.Series, chart.Series{Kind: chart.Dots, Neutral: i > 0, Points: []chart.Point{{X: b.of.Median * 1e6, Y: row, Lo: b.of.Lo * 1e6, Hi: b.of.Hi * 1e6, Note: milliseconds(b.of.Median)}}})
	}
	return p
}

// timesChart is nil for a single instance that waited for nothing.
func timesChart(f *record.Forecast) *chart.Plot {
	p := &chart.Plot{Name: "times", Title: "Waiting for a worker, and whole instances", X: chart.Axis{Label: "percentile", Scale: chart.Log, Unit: units.Percentile}, Y: chart.Axis{Label: "virtual time", Scale: chart.Log, Unit: units.Nanoseconds},
		Method: "Medians over the runs of each run's percentile; a whisker is the interval."}
	var said []string
	for i, t := range []struct {
		name string
		of   record.ForecastTimes
	}{{"waiting for a worker", f.Waiting}, {"instance, from its arrival", f.Latencies}} {
		s := chart.Series{Name: t.name, Kind: chart.Lines, Style: i}
		for _, q := range []struct {
			at float64
			of record.Spread
		}{{2, t.of.P50}, {10, t.of.P90}, {100, t.of.P99}} {
			s.Points = append(s.Points, chart.Point{X: q.at, Y: q.of.Median * 1e6, Lo: q.of.Lo * 1e6, Hi: q.of.Hi * 1e6})
		}
		p.Series = append(p.Series, s)
		said = append(said, fmt.Sprintf("%s %s, %s", t.name, milliseconds(t.of.P50.Median), milliseconds(t.of.P99.Median)))
	}
	if p.Empty() {
		return nil
	}
	p.Says = "p50 and p99: " + strings.Join(said, "; ") + "."
	return p
}

func forecastTable(f *record.Forecast) *page.Table {
	t := &page.Table{Says: "All figures", Heads: []page.Head{{Name: "figure", Words: true}, {Name: "median"}, {Name: "which is", Words: true}}}
	add := func(name string, v record.Spread, format func(float64) string, note string) {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(name), page.Figure(&v.Median, format, "["+units.Span(v.Lo, v.Hi, format)+"]"), {Text: note, Wrap: true}}})
	}
	for _, b := range bounds(f) {
		if b.of != nil {
			add(b.name, *b.of, milliseconds, b.note)
		}
	}
	add("work", f.WorkMS, milliseconds, "of all attempts")
	add("utilisation", f.Utilisation, units.Percent, "")
	add("speed-up", f.SpeedUp, units.Times, "work / makespan")
	add("instances in the system", f.InSystem, units.Number, "on an average")
	add("attempts in the queue", f.InQueue, units.Number, "on an average")
	for _, s := range []struct {
		name string
		of   record.ForecastTimes
	}{{"waiting for a worker", f.Waiting}, {"instance, from its arrival", f.Latencies}} {
		add(s.name+", mean", s.of.Mean, milliseconds, "")
		add(s.name+", p50", s.of.P50, milliseconds, "")
		add(s.name+", p90", s.of.P90, milliseconds, "")
		add(s.name+", p99", s.of.P99, milliseconds, "")
		add(s.name+", longest", s.of.Max, milliseconds, "")
	}
	return t
}

// measuredQuantiles are the percentiles that both sides have, at their places on the axis of percentiles.
var measuredQuantiles = []struct {
	name      string
	at        float64
	simulated func(*record.ForecastTimes) record.Spread
	measured  func(*record.MeasuredTimes) *float64
}{
	{"p50", 2, func(t *record.ForecastTimes) record.Spread { return t.P50 }, func(m *record.MeasuredTimes) *float64 { return m.P50MS }},
	{"p90", 10, func(t *record.ForecastTimes) record.Spread { return t.P90 }, func(m *record.MeasuredTimes) *float64 { return m.P90MS }},
	{"p99", 100, func(t *record.ForecastTimes) record.Spread { return t.P99 }, func(m *record.MeasuredTimes) *float64 { return m.P99MS }},
}

// measuredSection sets what a server did beside what was foretold.
func measuredSection(f *record.Forecast, m *record.Measured) page.Section {
	s := page.Section{ID: "measured", Title: "Simulated beside measured", Lead: "How long an instance takes from its arrival: foretold, and measured on a server. A simulation without a latency of the store has no database in it, " +
		"so that the difference is what the database, the network and the machine add."}
	if c := measuredChart(f, m); !c.Empty() {
		s.Blocks = append(s.Blocks, page.Block{Charts: []*chart.Plot{c}})
	}
	facts := []page.Entry{{Name: "record", Text: m.Dir}, {Name: "measured by", Text: m.Tool}, {Name: "machine", Text: m.Host}, {Name: "command", Text: strings.Join(m.Command, " ")}}
	s.Blocks = append(s.Blocks, page.Block{Table: measuredTable(f, m)}, page.Block{Heading: "What both do not share", List: page.Items(m.Differs)}, page.Block{Entries: slices.DeleteFunc(facts, func(e page.Entry) bool { return e.Text == "" })})
	return s
}

func measuredChart(f *record.Forecast, m *record.Measured) *chart.Plot {
	p := &chart.Plot{Name: "measured", Title: "Latency of an instance: simulated and measured", X: chart.Axis{Label: "percentile", Scale: chart.Log, Unit: units.Percentile}, Y: chart.Axis{Label: "time", Scale: chart.Log, Unit: units.Nanoseconds},
		Method: "Simulated: medians over the runs, a whisker is the interval. Measured: of one record."}
	simulated := chart.Series{Name: "simulated", Kind: chart.Lines, Neutral: true}
	for _, q := range measuredQuantiles {
		v := q.simulated(&f.Latencies)
		simulated.Points = append(simulated.Points, chart.Point{X: q.at, Y: v.Median * 1e6, Lo: v.Lo * 1e6, Hi: v.Hi * 1e6})
	}
	p.Series = append(p.Series, simulated)
	var said []string
	for i := range m.Rows {
		row := &m.Rows[i]
		s := chart.Series{Name: row.Name, Kind: chart.Lines, Style: i + 1}
		for _, q := range measuredQuantiles {
			if v := q.measured(row); v != nil {
				s.Points = append(s.Points, chart.Point{X: q.at, Y: *v * 1e6})
			}
		}
		p.Series = append(p.Series, s)
		if row.P50MS != nil && f.Latencies.P50.Median > 0 {
			said = append(said, fmt.Sprintf("%s takes %s the simulated median", row.Name, units.Times(*row.P50MS/f.Latencies.P50.Median)))
		}
	}
	p.Says = units.List(said) + "."
	return p
}

func measuredTable(f *record.Forecast, m *record.Measured) *page.Table {
	t := &page.Table{Says: "Simulated and measured", Heads: []page.Head{{Name: "design", Words: true}, {Name: "percentile", Words: true}, {Name: "simulated"}, {Name: "measured"}, {Name: "measured / simulated"}}}
	for i := range m.Rows {
		for _, q := range measuredQuantiles {
			simulated, measured := q.simulated(&f.Latencies), q.measured(&m.Rows[i])
			if measured == nil {
				continue
			}
			var ratio *float64
			if simulated.Median > 0 {
				v := *measured / simulated.Median
				ratio = &v
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(m.Rows[i].Name), page.Words(q.name), page.Figure(&simulated.Median, milliseconds, "["+units.Span(simulated.Lo, simulated.Hi, milliseconds)+"]"),
				page.Figure(measured, milliseconds, ""), page.Figure(ratio, units.Times, "")}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
