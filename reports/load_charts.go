package reports

import (
	"fmt"
	"math"
	"slices"

	"pulley/reports/chart"
	"pulley/reports/record"
	"pulley/reports/units"
)

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
	below := make([]float64, len(l.Intervals))
	var edges []chart.Series
	var said []string
	for i, name := range w.Names {
		s, edge := chart.Series{Name: name, Kind: chart.Area, Style: i}, chart.Series{Name: name, Kind: chart.Steps, Style: i}
		total, looks := 0.0, 0.0
		for j := range l.Intervals {
			v := &l.Intervals[j]
			if v.WaitLooks == 0 || i >= len(v.Waits) {
				continue
			}
			mean := float64(v.Waits[i]) / float64(v.WaitLooks)
			pt := chart.Point{X: seconds(v.FromNS), Lo: below[j], Hi: below[j] + mean, Note: units.Number(mean) + " sessions"}
			below[j] += mean
			for _, x := range []int64{v.FromNS, v.ToNS} {
				pt.X = seconds(x)
				s.Points = append(s.Points, pt)
				edge.Points = append(edge.Points, chart.Point{X: pt.X, Y: pt.Hi})
			}
			if v.Measured {
				total, looks = total+float64(v.Waits[i]), looks+float64(v.WaitLooks)
			}
		}
		if looks > 0 && len(said) < 4 {
			said = append(said, fmt.Sprintf("%s %s", name, units.Number(total/looks)))
		}
		p.Series, edges = append(p.Series, s), append(edges, edge)
	}
	slices.Reverse(edges) // where a wait is of nobody, the edge beneath it is seen
	p.Series = append(p.Series, edges...)
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
