package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Load lays out the report on a run under load.
func Load(l *record.Load, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "bench", Answer: loadAnswer(l), State: loadState(l), Repeat: strings.Join(l.Command, " "), Record: files,
		Facts: setup(l.StartedAt, l.Postgres, l.Host), Tool: l.Tool.String(),
		First: []page.Block{{Charts: []*chart.Plot{loadRateChart(l), loadLatencyChart(l)}}},
	}
	if c := loadWaitChart(l); c != nil {
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{c}})
	}
	if len(l.Findings) > 0 {
		var found []page.Item
		for _, f := range l.Findings {
			found = append(found, page.Item{Text: f.Text, Where: f.Kind})
		}
		p.First = append(p.First, page.Block{Heading: "What speaks against the run", List: found})
	}
	if d := loadDistribution(l); !d.tail.Empty() {
		p.Sections = append(p.Sections, page.Section{ID: "distribution", Title: "All latencies", Blocks: []page.Block{{Charts: []*chart.Plot{d.tail, d.share}}},
			Lead: "The axis of percentiles is stretched towards the worst: each nine has the same room."})
	}
	if charts := loadStageCharts(l); len(charts) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "stages", Title: "Where the time goes", Blocks: []page.Block{{Charts: charts}},
			Lead: "The stages of an instance and of its node runs: median, and to the 99th percentile."})
	}
	p.Sections = append(p.Sections,
		page.Section{ID: "times", Title: "All times", Blocks: []page.Block{{Table: loadTimesTable(l)}, {Table: objectiveTable(l)}}},
		page.Section{ID: "intervals", Title: "Interval by interval", Folded: true, Blocks: []page.Block{{Table: loadIntervalTable(l)}}},
		page.Section{ID: "method", Title: "How it was measured", Blocks: append(append(notes(l.Notes), page.Block{Entries: loadEntries(l)}), systemBlocks(systemOf(l))...)})
	for i := range p.Sections {
		kept := p.Sections[i].Blocks[:0]
		for _, b := range p.Sections[i].Blocks {
			if !b.Empty() {
				kept = append(kept, b)
			}
		}
		p.Sections[i].Blocks = kept
	}
	return p
}

// WriteLoadHTML writes the report on a run under load as one self-contained page.
func WriteLoadHTML(w io.Writer, l *record.Load, files ...page.File) error {
	return Load(l, files...).WriteHTML(w)
}

func notes(texts []string) (out []page.Block) {
	for _, text := range texts {
		out = append(out, page.Block{Text: text})
	}
	return out
}

func loadAnswer(l *record.Load) string {
	of := fmt.Sprintf("%s on %s", (&family{scenario: l.Scenario}).label(l.Size), short(l.Backend))
	rate := units.Number(l.AchievedPerS) + " instances/s"
	if l.Overloaded {
		return fmt.Sprintf("%s: overloaded; %s of %s ended.", of, rate, units.Number(l.AskedPerS))
	}
	if l.Asked.ValueNS == nil {
		return fmt.Sprintf("%s: %s ended; too few for its %s.", of, rate, record.PercentileName(l.Asked.Percentile))
	}
	return fmt.Sprintf("%s: %s %s at %s.", of, record.PercentileName(l.Asked.Percentile), optionalTime(l.Asked.ValueNS), rate)
}

func loadState(l *record.Load) page.State {
	switch {
	case l.Valid:
		return page.State{Text: "valid: nothing speaks against this run", Mark: page.Good}
	case l.Overloaded:
		return page.State{Text: "overload: the latencies depend on how long the run lasts", Mark: page.Bad}
	}
	return page.State{Text: "invalid: this run decides nothing", Mark: page.Unclear}
}

func systemOf(l *record.Load) []record.System {
	if l.System == nil {
		return nil
	}
	return []record.System{*l.System}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func loadBands(l *record.Load) []chart.Band {
	if l.Phases.WarmUpNS <= 0 {
		return nil
	}
	return []chart.Band{{From: 0, To: seconds(l.Phases.WarmUpNS), Name: "warm-up"}}
}

func loadRateChart(l *record.Load) *chart.Plot {
	p := &chart.Plot{
		Name: "rates", Title: "Rates and backlog over time", X: chart.Axis{Label: "seconds", Scale: chart.Linear, Unit: units.Seconds},
		Y: chart.Axis{Label: "instances / s, or open", Scale: chart.Linear}, Bands: loadBands(l),
		Says: fmt.Sprintf("%s instances/s asked for, %s sent, %s ended in the measured phase.", units.Number(l.AskedPerS), units.Number(l.OfferedPerS), units.Number(l.AchievedPerS)),
	}
	curves := []struct {
		name string
		of   func(v *record.LoadInterval) int
		rate bool
	}{
		{"intended / s", func(v *record.LoadInterval) int { return v.Intended }, true}, {"ended / s", func(v *record.LoadInterval) int { return v.Achieved }, true},
		{"dropped / s", func(v *record.LoadInterval) int { return v.Dropped }, true}, {"open at its end", func(v *record.LoadInterval) int { return v.Backlog }, false},
	}
	for i, c := range curves {
		s := chart.Series{Name: c.name, Kind: chart.Steps, Style: i}
		some := false
		for j := range l.Intervals {
			v := &l.Intervals[j]
			y := float64(c.of(v))
			some = some || y > 0
			if c.rate && v.ToNS > v.FromNS {
				y /= seconds(v.ToNS - v.FromNS)
			}
			s.Points = append(s.Points, chart.Point{X: seconds(v.FromNS), Y: y})
		}
		if some {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

func loadLatencyChart(l *record.Load) *chart.Plot {
	p := &chart.Plot{
		Name: "latency", Title: "Latency over time", X: chart.Axis{Label: "seconds", Scale: chart.Linear, Unit: units.Seconds},
		Y: chart.Axis{Label: "latency", Scale: chart.Log, Unit: units.Nanoseconds}, Bands: loadBands(l),
		Says:   fmt.Sprintf("In the measured phase p50 %s, p99 %s, p99.9 %s.", optionalTime(l.LatencyNS.P50), optionalTime(l.LatencyNS.P99), optionalTime(l.LatencyNS.P999)),
		Method: "From each instance's intended time to its result, by interval in which it was intended.",
	}
	if heat := loadHeat(l); len(heat.Points) > 0 {
		p.Series = append(p.Series, heat)
		p.Method += " A cell is the darker the more instances it holds, by the square root of their number."
	}
	for i, c := range []struct {
		name string
		of   func(v *record.LoadInterval) *int64
	}{{"p50", func(v *record.LoadInterval) *int64 { return v.P50NS }}, {"p99", func(v *record.LoadInterval) *int64 { return v.P99NS }}} {
		s := chart.Series{Name: c.name, Kind: chart.Steps, Style: 1 + i}
		for j := range l.Intervals {
			if ns := c.of(&l.Intervals[j]); ns != nil {
				s.Points = append(s.Points, chart.Point{X: seconds(l.Intervals[j].FromNS), Y: float64(*ns)})
			}
		}
		p.Series = append(p.Series, s)
	}
	for _, o := range l.Objectives {
		p.Rules = append(p.Rules, chart.Rule{At: float64(o.MostNS), Name: "objective: " + record.PercentileName(o.Percentile)})
	}
	return p
}

func loadStageCharts(l *record.Load) []*chart.Plot {
	p := &chart.Plot{
		Name: "stages", Title: "Stages", Labeled: true, X: chart.Axis{Label: "time", Scale: chart.Log, Unit: units.Nanoseconds}, Y: chart.Axis{Scale: chart.Rows},
		Method: "The marker is the median, the pale bar ends at the 99th percentile.",
	}
	for _, s := range l.Stages {
		if s.NS.P50 == nil {
			continue
		}
		row, hi := float64(len(p.Y.Names)), float64(*s.NS.P50)
		if s.NS.P99 != nil {
			hi = float64(*s.NS.P99)
		}
		p.Y.Names = append(p.Y.Names, s.Name)
		at := max(float64(*s.NS.P50), 1)
		p.Series = append(p.Series, chart.Series{Kind: chart.Dots, Points: []chart.Point{{X: at, Y: row, Lo: at, Hi: hi, Note: units.MiddleAndTail(optionalTime(s.NS.P50), optionalTime(s.NS.P99))}}})
	}
	if p.Empty() {
		return nil
	}
	return []*chart.Plot{p}
}

func optionalNanos(ns *int64) page.Cell {
	if ns == nil {
		return nanos(false, 0)
	}
	return nanos(true, *ns)
}

func loadTimesTable(l *record.Load) *page.Table {
	t := &page.Table{Says: "All times in the measured phase", Heads: []page.Head{{Name: "what", Words: true}, {Name: "count"}, {Name: "mean"}, {Name: "p50"}, {Name: "p90"}, {Name: "p99"}, {Name: "p99.9"}, {Name: "max"}, {Name: "which is", Words: true}}}
	add := func(name, text string, v record.LoadTimes) {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: name}, count(v.Count), optionalNanos(v.MeanNS), optionalNanos(v.P50), optionalNanos(v.P90), optionalNanos(v.P99), optionalNanos(v.P999), optionalNanos(v.Max), {Text: text, Wrap: true}}})
	}
	add("latency", latencyText, l.LatencyNS)
	add("service time", serviceText, l.ServiceNS)
	add("lag", lagText, l.LagNS)
	for _, s := range l.Stages {
		add(s.Name, s.Text, s.NS)
	}
	return t
}

func objectiveTable(l *record.Load) *page.Table {
	if len(l.Objectives) == 0 {
		return nil
	}
	t := &page.Table{Says: "Objectives", Heads: []page.Head{{Name: "objective", Words: true}, {Name: "at most"}, {Name: "was"}, {Name: "judgement", Words: true}}}
	for _, o := range l.Objectives {
		judged := page.Cell{Text: "held", Mark: page.Good}
		if !o.Held {
			judged = page.Cell{Text: "missed", Mark: page.Bad}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: record.PercentileName(o.Percentile)}, nanos(true, o.MostNS), optionalNanos(o.ValueNS), judged}})
	}
	return t
}

func loadIntervalTable(l *record.Load) *page.Table {
	if len(l.Intervals) == 0 {
		return nil
	}
	t := &page.Table{Says: "Intervals of " + units.Duration(float64(l.Phases.SpanNS)), Heads: []page.Head{{Name: "from"}, {Name: "intended"}, {Name: "sent"}, {Name: "dropped"}, {Name: "ended"}, {Name: "open"}, {Name: "p50"}, {Name: "p99"}, {Name: "phase", Words: true}}}
	step := max((len(l.Intervals)+maxSampleRows-1)/maxSampleRows, 1)
	for i := 0; i < len(l.Intervals); i += step {
		v := &l.Intervals[i]
		phase := "warm-up"
		if v.Measured {
			phase = "measured"
		}
		t.Rows = append(t.Rows, page.Row{Doubtful: !v.Measured, Cells: []page.Cell{{Text: units.Duration(float64(v.FromNS))}, count(v.Intended), count(v.Offered), count(v.Dropped), count(v.Achieved), count(v.Backlog), optionalNanos(v.P50NS), optionalNanos(v.P99NS), {Text: phase}}})
	}
	return t
}

func loadEntries(l *record.Load) []page.Entry {
	out := []page.Entry{
		{Name: "arrivals", Text: l.Arrivals}, {Name: "engines", Text: fmt.Sprintf("%s, %s each", units.Plural(l.Engines, "engine"), units.Plural(l.Workers, "worker"))},
		{Name: "open at most", Text: units.Plural(l.InFlightMost, "instance")}, {Name: "seed", Text: fmt.Sprint(l.Seed)},
		{Name: "phases", Text: fmt.Sprintf("warm-up until %s, measured until %s, drained by %s", units.Duration(float64(l.Phases.WarmUpNS)), units.Duration(float64(l.Phases.MeasureNS)), units.Duration(float64(l.Phases.DrainNS)))},
		{Name: "counted", Text: loadCounts(l.Measured)}, {Name: "the generator", Text: fmt.Sprintf("sent its instances %s slower than intended and was busy for %s of the time", units.Percent(l.Pace.RateError), units.Percent(l.Pace.BusyShare))},
	}
	if l.Waits != nil {
		out = append(out, page.Entry{Name: "waits", Text: waitMethod(l)})
	}
	if a := l.Asked; a.LoNS != nil {
		out = append(out, page.Entry{Name: record.PercentileName(a.Percentile), Text: fmt.Sprintf("%s, between %s and %s with %s confidence; such an interval needs %s", optionalTime(a.ValueNS), optionalTime(a.LoNS), optionalTime(a.HiNS), units.Percent(a.Confidence), units.Plural(a.Needs, "independent instance"))})
	}
	return out
}

// heatColumns bounds the columns of a heat map: neighbouring intervals are added up, so that none is too narrow to be seen.
const heatColumns = 120

// loadHeat has a column for each interval and a cell for each bucket of latencies, the darker the more instances it holds. It has no
// points in records before version 9.
func loadHeat(l *record.Load) chart.Series {
	s := chart.Series{Name: "instances", Kind: chart.Cells}
	group := (len(l.Intervals) + heatColumns - 1) / heatColumns
	most := 0.0
	for i := 0; i < len(l.Intervals); i += max(group, 1) {
		of := l.Intervals[i:min(i+group, len(l.Intervals))]
		from, to := seconds(of[0].FromNS), seconds(of[len(of)-1].ToNS)
		for _, c := range addUp(of) {
			s.Points = append(s.Points, chart.Point{
				X: from, To: to, Y: float64(max(c.from, 1)), Top: float64(c.to) + 1, Value: float64(c.count),
				Note: fmt.Sprintf("%s from %s to %s", units.Plural(int(c.count), "instance"), units.Duration(float64(c.from)), units.Duration(float64(c.to)+1)),
			})
			most = max(most, float64(c.count))
		}
	}
	for i := range s.Points { // the root lets few instances be seen beside many
		s.Points[i].Value = math.Sqrt(s.Points[i].Value / most)
	}
	return s
}

type bucket struct{ from, to, count int64 }

// addUp returns the buckets of intervals, ascending.
func addUp(intervals []record.LoadInterval) []bucket {
	var out []bucket
	at := map[int64]int{}
	for i := range intervals {
		d := intervals[i].Latencies
		if d == nil || d.Bits != record.CoarseBits {
			continue
		}
		for j := range d.FromNS {
			from, to, count := d.Bucket(j)
			k, known := at[from]
			if !known {
				k = len(out)
				at[from], out = k, append(out, bucket{from: from, to: to})
			}
			out[k].count += count
		}
	}
	slices.SortFunc(out, func(a, b bucket) int { return int(min(max(a.from-b.from, -1), 1)) })
	return out
}

// loadWaitChart stacks what the store's sessions waited for: the mean number of sessions, by interval. It is nil without samples.
func loadWaitChart(l *record.Load) *chart.Plot {
	w := l.Waits
	if w == nil || w.Looks == 0 {
		return nil
	}
	p := &chart.Plot{
		Name: "waits", Title: "What the store's sessions waited for", X: chart.Axis{Label: "seconds", Scale: chart.Linear, Unit: units.Seconds},
		Y: chart.Axis{Label: "busy sessions", Scale: chart.Linear}, Bands: loadBands(l), Method: waitMethod(l), Low: true,
	}
	var layers []chart.Layer
	var said []string
	for i, name := range w.Names {
		layer := chart.Layer{Name: name}
		total, looks := 0.0, 0.0
		for j := range l.Intervals {
			v := &l.Intervals[j]
			if v.WaitLooks == 0 || i >= len(v.Waits) {
				continue
			}
			layer.Steps = append(layer.Steps, chart.Step{From: seconds(v.FromNS), To: seconds(v.ToNS), Value: float64(v.Waits[i]) / float64(v.WaitLooks)})
			if v.Measured {
				total, looks = total+float64(v.Waits[i]), looks+float64(v.WaitLooks)
			}
		}
		if looks > 0 && len(said) < 4 {
			said = append(said, fmt.Sprintf("%s %s", name, units.Number(total/looks)))
		}
		layers = append(layers, layer)
	}
	p.Series = chart.Stack(layers, "sessions")
	if len(said) > 0 {
		p.Says = "Sessions on average in the measured phase: " + units.List(said) + "."
	}
	return p
}

func waitMethod(l *record.Load) string {
	w := l.Waits
	text := fmt.Sprintf("Every %s, one query of pg_stat_activity counts the sessions of the engines that are not idle, by what they wait for; running ones wait for nothing. ",
		units.Duration(float64(w.EveryNS)))
	took := float64(w.TookNS) / float64(max(w.Looks, 1))
	return text + fmt.Sprintf("%s of %s each cost the server less than %s of one processor.", units.Plural(w.Looks, "sample"), units.Duration(took),
		units.Percent(took/float64(max(w.EveryNS, 1))))
}

// loadDistribution has the latencies of the measured phase by percentile and as shares. Both are empty in records before version 9.
func loadDistribution(l *record.Load) latencyPlots {
	p := newLatencyPlots("latency-percentiles", "Latency by percentile", "From each instance's intended time to its result, over the measured phase. "+
		"What did not end counts as longer than all. A curve ends where fewer than ten instances lie above it.")
	p.share.Title = "Share that took no longer"
	p.share.Y.Label = "of the instances"
	if l.Latencies.Ended() == 0 {
		return p
	}
	p.add("latency", 0, l.Latencies)
	p.tail.Says = fmt.Sprintf("p50 %s, p99 %s, p99.9 %s of %s.", optionalTime(l.LatencyNS.P50), optionalTime(l.LatencyNS.P99), optionalTime(l.LatencyNS.P999), units.Plural(int(l.Latencies.Count()), "instance"))
	p.share.Says = p.tail.Says
	for _, o := range l.Objectives {
		p.tail.Rules = append(p.tail.Rules, chart.Rule{At: float64(o.MostNS), Name: "objective: " + record.PercentileName(o.Percentile)})
	}
	return p
}
