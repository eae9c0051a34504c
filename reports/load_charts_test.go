package reports_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/chart"
	"pulley/reports/record"
)

// timedLoad has so many intervals of a second, in each of which 100 instances end after 1 to 100 ms, and two sessions are busy.
func timedLoad(intervals int) *record.Load {
	l := &record.Load{
		Schema: record.SchemaVersion, Scenario: "orders", Backend: "push", Valid: true, Phases: record.LoadPhases{MeasureNS: int64(intervals) * 1e9, DrainNS: int64(intervals) * 1e9, SpanNS: 1e9},
		Objectives: []record.LoadObjective{{Percentile: 99, MostNS: 2e8, Held: true}},
		Waits:      &record.LoadWaits{EveryNS: 1e8, Looks: 10 * intervals, TookNS: int64(intervals) * 5e6, Names: []string{"IO:WALSync", record.WaitRunning}},
	}
	var times, all []int64
	for ms := range int64(100) {
		times = append(times, (ms+1)*1e6)
	}
	for i := range int64(intervals) {
		all = append(all, times...)
		l.Intervals = append(l.Intervals, record.LoadInterval{
			FromNS: i * 1e9, ToNS: (i + 1) * 1e9, Intended: 100, Measured: true, P50NS: ptr(int64(5e7)), P99NS: ptr(int64(99e6)),
			Latencies: record.NewDistribution(record.CoarseBits, times, 0), WaitLooks: 10, Waits: []int64{15, 5},
		})
	}
	l.Latencies = record.NewDistribution(record.FineBits, all, 5)
	return l
}

func plotOf(t *testing.T, l *record.Load, name string) *chart.Plot {
	t.Helper()
	for _, c := range reports.Load(l).Charts() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func TestLatenciesOfALoadAreDrawn(t *testing.T) {
	for _, intervals := range []int{1, 30, 600} {
		l := timedLoad(intervals)
		var heat *chart.Series
		for i, s := range plotOf(t, l, "latency").Series {
			if s.Kind == chart.Cells {
				heat = &plotOf(t, l, "latency").Series[i]
			}
		}
		if heat == nil {
			t.Fatalf("%d intervals: no heat map", intervals)
		}
		columns := map[float64]bool{}
		for _, pt := range heat.Points {
			columns[pt.X] = true
			if pt.Value <= 0 || pt.Value > 1 || pt.To <= pt.X || pt.Top <= pt.Y {
				t.Fatalf("a cell %+v", pt)
			}
		}
		if len(columns) > 120 || len(columns) < min(intervals, 100) {
			t.Errorf("%d intervals in %d columns", intervals, len(columns))
		}
		tail := plotOf(t, l, "latency-percentiles").Series[0].Points
		n := float64(100*intervals + 5)
		if last := tail[len(tail)-1]; n/last.X < 10 || last.Y > 1.01e8 {
			t.Errorf("%d intervals: the curve ends at %+v", intervals, last)
		}
		shares := plotOf(t, l, "latency-percentiles-share").Series[0].Points
		if last := shares[len(shares)-1]; math.Abs(last.Y-float64(100*intervals)/n) > 1e-9 {
			t.Errorf("%d intervals: a share of %v ended", intervals, last.Y)
		}
	}
}

func TestWaitsOfALoadAreStacked(t *testing.T) {
	l := timedLoad(3)
	p := plotOf(t, l, "waits")
	if p == nil || !strings.Contains(p.Says, "IO:WALSync 1.50 and running 0.500") || !strings.Contains(p.Method, "30 samples of 500 µs") || !strings.Contains(p.Method, "0.500 %") {
		t.Fatalf("%+v", p)
	}
	if top := p.Series[1].Points[0]; top.Lo != 1.5 || top.Hi != 2 {
		t.Errorf("the second wait is from %v to %v", top.Lo, top.Hi)
	}
	var html bytes.Buffer
	if err := reports.WriteLoadHTML(&html, l); err != nil || !strings.Contains(html.String(), "pg_stat_activity") {
		t.Errorf("the page does not name how waits were sampled: %v", err)
	}
}

func TestOlderLoadsLackOnlyTheNewCharts(t *testing.T) {
	l := timedLoad(3)
	l.Latencies, l.Waits = nil, nil
	for i := range l.Intervals {
		l.Intervals[i].Latencies, l.Intervals[i].Waits, l.Intervals[i].WaitLooks = nil, nil, 0
	}
	if plotOf(t, l, "waits") != nil || plotOf(t, l, "latency-percentiles") != nil || plotOf(t, l, "latency") == nil {
		t.Error("the charts are not those of an older record")
	}
	if err := reports.WriteLoadHTML(&bytes.Buffer{}, l); err != nil {
		t.Error(err)
	}
}
