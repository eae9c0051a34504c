package verdicts

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/record"
	"pulley/reports/units"
)

// timelineCharts is the throughput over time with the faults marked; there is none without completions.
func timelineCharts(t record.Timeline) []*chart.Plot {
	if len(t.Completions) == 0 || t.WindowMS <= 0 {
		return nil
	}
	var points []chart.Point
	for i, n := range t.Completions {
		points = append(points, chart.Point{X: float64(i) * t.WindowMS / 1000, Y: float64(n) / t.WindowMS * 1000})
	}
	p := overTime("throughput", "Completions per second", points, chart.Axis{Label: "completions / s", Scale: chart.Linear}, t.Faults)
	p.Method = fmt.Sprintf("Completions that were applied, in windows of %s, by what the engines said. Marks at the top are faults, from begin to end.",
		units.Duration(t.WindowMS*1e6))
	lowest, highest := points[0], points[0]
	for _, pt := range points {
		if pt.Y < lowest.Y {
			lowest = pt
		}
		if pt.Y > highest.Y {
			highest = pt
		}
	}
	p.Says = fmt.Sprintf("Between %s (at %s s) and %s completions per second (at %s s), with %s.", units.Number(lowest.Y), units.Number(lowest.X),
		units.Number(highest.Y), units.Number(highest.X), units.Plural(len(t.Faults), "fault"))
	return append([]*chart.Plot{p}, sampleCharts(t)...)
}

// sampleCharts are the backlog, and what the engines' sessions waited for; none in earlier records.
func sampleCharts(t record.Timeline) (out []*chart.Plot) {
	s := t.Samples
	if s == nil || s.WindowMS <= 0 {
		return nil
	}
	window := s.WindowMS / 1000
	var open []chart.Point
	most := chart.Point{}
	for i, n := range s.Open {
		if n == nil {
			continue
		}
		pt := chart.Point{X: float64(i) * window, Y: *n}
		if open = append(open, pt); pt.Y > most.Y {
			most = pt
		}
	}
	p := overTime("backlog", "Backlog: open instances", open, chart.Axis{Label: "instances", Scale: chart.Linear}, t.Faults)
	p.Low, p.Method = true, fmt.Sprintf("Instances whose ends the load did not know, twice a second; means in windows of %s.", units.Duration(s.WindowMS*1e6))
	p.Says = fmt.Sprintf("At most %s instances were open (at %s s).", units.Number(most.Y), units.Number(most.X))
	var layers []chart.Layer
	var said []string
	for _, w := range s.Waits {
		layer := chart.Layer{Name: w.Name}
		sum := 0.0
		for i, n := range w.Sessions {
			if n != nil {
				layer.Steps = append(layer.Steps, chart.Step{From: float64(i) * window, To: float64(i+1) * window, Value: *n})
				sum += *n
			}
		}
		if n := len(layer.Steps); n > 0 && len(said) < 4 {
			said = append(said, fmt.Sprintf("%s %s", w.Name, units.Number(sum/float64(n))))
		}
		layers = append(layers, layer)
	}
	waits := overTime("waits", "What the engines' sessions waited for", nil, chart.Axis{Label: "busy sessions", Scale: chart.Linear}, t.Faults)
	waits.Low, waits.Series = true, chart.Stack(layers, "sessions")
	waits.Says = "Sessions on average: " + units.List(said) + "."
	waits.Method = "Twice a second, a query of pg_stat_activity counts the engines' sessions that are not idle, by what they wait for; running ones wait for nothing. Where the server did not answer, none is drawn."
	for _, c := range []*chart.Plot{p, waits} {
		if !c.Empty() {
			out = append(out, c)
		}
	}
	return out
}

func soakCharts(s *record.Soak, faults []record.FaultTime) []*chart.Plot {
	var out []*chart.Plot
	for _, one := range s.Series {
		var points []chart.Point
		for i, v := range one.Values {
			if v != nil {
				points = append(points, chart.Point{X: one.AtS[i], Y: *v})
			}
		}
		p := overTime("soak-"+chart.FileName(one.Name), one.Name, points, chart.Axis{Scale: chart.Linear, Unit: soakUnit(one.Unit)}, faults)
		p.Low = true
		if !p.Empty() {
			out = append(out, p)
		}
	}
	return out
}

// overTime draws one curve over seconds, with the faults above it.
func overTime(name, title string, points []chart.Point, y chart.Axis, faults []record.FaultTime) *chart.Plot {
	p := &chart.Plot{
		Name: name, Title: title, X: chart.Axis{Label: "seconds", Scale: chart.Linear, Unit: units.Seconds}, Y: y,
		Series: []chart.Series{{Name: title, Kind: chart.Steps, Points: points}},
	}
	groups := faultGroups(faults)
	for _, f := range faults {
		i, _ := slices.BinarySearch(groups, faultGroup(f.Kind))
		p.Bands = append(p.Bands, chart.Band{From: f.BeginMS / 1000, To: f.EndMS / 1000, Name: groups[i], Style: 1 + i, Top: true})
	}
	return p
}

func faultGroups(faults []record.FaultTime) []string {
	var out []string
	for _, f := range faults {
		out = append(out, faultGroup(f.Kind))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func faultGroup(kind string) string {
	group, _, _ := strings.Cut(kind, ".")
	return group
}

// recoveryCharts has a row for each kind of fault: how long until all open instances continued.
func recoveryCharts(r record.Recovery) []*chart.Plot {
	p := &chart.Plot{
		Name: "recovery", Title: "Time until every open instance continued, by kind of fault", X: chart.Axis{Label: "from the fault's end", Scale: chart.Log, Unit: units.Nanoseconds},
		Y: chart.Axis{Scale: chart.Rows}, Labeled: true, Method: "The marker is the median over faults, the pale bar ends at the 99th percentile.",
	}
	var worst string
	var longest float64
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		t := r.Kinds[kind].Recovered
		if t.N == 0 {
			continue
		}
		if t.P99 > longest {
			worst, longest = kind, t.P99
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, kind)
		p.Series = append(p.Series, chart.Series{Kind: chart.Dots, Points: []chart.Point{{X: max(t.P50, 0.001) * 1e6, Y: row, Lo: max(t.P50, 0.001) * 1e6, Hi: t.P99 * 1e6,
			Note: units.MiddleAndTail(units.Duration(t.P50*1e6), units.Duration(t.P99*1e6)) + " of " + units.Plural(t.N, "fault")}}})
	}
	if p.Empty() {
		return nil
	}
	p.Says = fmt.Sprintf("Slowest: %s, 99th percentile %s.", worst, units.Duration(longest*1e6))
	return []*chart.Plot{p}
}
