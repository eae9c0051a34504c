package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/record"
)

func ns(v int64) *int64 { return &v }

// The answer must come first, and unknown figures must be shown as unknown.
func TestLoadText(t *testing.T) {
	base := record.Load{
		Scenario: "orders", Size: 2, Backend: "push", Arrivals: "poisson:200/s", Workers: 8, Engines: 2, AskedPerS: 200, OfferedPerS: 200, AchievedPerS: 199,
		Phases:    record.LoadPhases{WarmUpNS: 1e9, MeasureNS: 11e9, DrainNS: 12e9, Detected: true, Settled: true, SpanNS: 1e9},
		Measured:  record.LoadCounts{Intended: 2000, Sent: 1990, Late: 12, Dropped: 10, Ended: 1990},
		LatencyNS: record.LoadTimes{Count: 2000, P50: ns(3e6)}, ServiceNS: record.LoadTimes{Count: 1990, P50: ns(2e6)},
		Asked:     record.LoadPercentile{Percentile: 99, ValueNS: ns(42e6), LoNS: ns(40e6), HiNS: ns(44e6)},
		Stages:    []record.LoadStage{{Name: "submitted", Text: "from the sending\x1b[2J", NS: record.LoadTimes{Count: 7, Max: ns(5)}}},
		Intervals: []record.LoadInterval{{ToNS: 1e9, Intended: 3, Offered: 3, StageP50s: []*int64{nil}}, {FromNS: 1e9, ToNS: 2e9, Backlog: 1234, StageP50s: []*int64{ns(7)}, Measured: true}},
	}
	change := func(f func(*record.Load)) *record.Load {
		l := base
		f(&l)
		return &l
	}
	finding := []record.LoadFinding{{Kind: "lag", Text: "the generator was late"}}
	for name, c := range map[string]struct {
		l    *record.Load
		want []string
	}{
		"valid": {change(func(l *record.Load) { l.Valid = true }), []string{
			"p99 latency 42.0 ms [40.0 ms, 44.0 ms] at 200 instances/s asked for, 200 sent, 199 ended\n",
			"orders 2 on push · poisson:200/s · 2 engines, 8 workers each · warm-up 1.00 s (found), measured 10.0 s, drained 1.00 s · 2,000 instances measured: 12 late, 10 dropped, 0 unfinished",
			"1,234", "warm-up\n", "from the sending?[2J",
		}},
		"half known": {change(func(l *record.Load) { l.Valid, l.Asked.HiNS, l.Phases.Settled = true, nil, false }), []string{"p99 latency 42.0 ms [at least 40.0 ms] at", "(its end was not found)"}},
		"unknown":    {change(func(l *record.Load) { l.Valid, l.Asked = true, record.LoadPercentile{Percentile: 100} }), []string{"max latency – at"}},
		"invalid":    {change(func(l *record.Load) { l.Findings = finding }), []string{"INVALID, this run decides nothing: the generator was late. It showed p99 latency", "Against the run:\n  the generator was late\n"}},
		"overload":   {change(func(l *record.Load) { l.Findings, l.Overloaded = finding, true }), []string{"OVERLOAD: 200 instances/s asked for, 200 sent, 199 ended; "}},
		"objectives": {change(func(l *record.Load) {
			l.Valid = true
			l.Objectives = []record.LoadObjective{{Percentile: 99.9, MostNS: 5e7, ValueNS: ns(4e7), Held: true}, {Percentile: 100, MostNS: 5e7}}
			l.Notes = []string{"a note"}
		}), []string{"Objective p99.9 ≤ 50.0 ms: held, 40.0 ms\n", "Objective max ≤ 50.0 ms: missed, –\n", "Note: a note\n"}},
		"many intervals": {change(func(l *record.Load) {
			l.Valid, l.Intervals = true, nil
			for i := range 81 {
				l.Intervals = append(l.Intervals, record.LoadInterval{FromNS: int64(i) * 1e9, StageP50s: []*int64{nil}})
			}
		}), []string{"Intervals of 1.00 s, one in 3;", "  78 s"}},
	} {
		var b bytes.Buffer
		if err := reports.WriteLoadText(&b, c.l); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, b.String())
			}
		}
	}
}
