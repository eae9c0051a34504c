package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/record"
)

func synthCeilings() *record.Ceilings {
	return &record.Ceilings{
		Measurements: 2, PointNS: 2e8,
		Rates: []record.CeilingRate{
			{Way: record.CeilingBatched, NodesPerInstance: 10, NodesPerS: record.Spread{Median: 50000, Lo: 48000, Hi: 52000}, Batch: 1000, Connections: 2, Points: []record.CeilingPoint{
				{Batch: 100, Connections: 1, NodesPerS: []float64{20000, 22000}}, {Batch: 100, Connections: 2, NodesPerS: []float64{41000, 39000}},
				{Batch: 1000, Connections: 1, NodesPerS: []float64{30000, 30500}}, {Batch: 1000, Connections: 2, NodesPerS: []float64{48000, 52000}},
			}},
			{Way: record.CeilingCall, NodesPerS: record.Spread{Median: 8350, Lo: 8300, Hi: 8400}, Batch: 1, Connections: 4, Points: []record.CeilingPoint{
				{Batch: 1, Connections: 4, NodesPerS: []float64{8300, 8400}},
			}},
		},
		Idle: []record.IdleLatency{
			{What: record.IdleCommit, LatencyNS: record.Percentiles{P50: 115e3, P99: 420e3, P999: 1e6, Max: 6e6}, Count: 4000},
			{What: record.IdleTransaction, LatencyNS: record.Percentiles{P50: 312e3, P99: 750e3, P999: 2e6, Max: 7e6}, Count: 1500},
		},
		Warnings: []string{"something else was at work"},
	}
}

func withCeilings() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	s.Ceilings = synthCeilings()
	m.Methods = append(m.Methods, record.Method{Figure: "ceiling_fraction", Text: "one divided by the other"},
		record.Method{Figure: "ceilings", Text: "by a client without an engine"}, record.Method{Figure: "idle", Text: "one call after the other"})
	for i := range s.Rows {
		r := &s.Rows[i]
		switch r.Backend {
		case "push":
			r.Ceiling = record.CeilingBatched
		case "memory":
			continue
		default:
			r.Ceiling = record.CeilingCall
		}
		r.CeilingFraction = ptr(r.NodesPerS.Median / s.Ceilings.RateFor(r.Ceiling, r.Nodes, r.InstanceWrites).NodesPerS.Median)
	}
	return s, m
}

func TestPageShowsFractions(t *testing.T) {
	s, m := withCeilings()
	page := render(t, s, m)
	p := parse(t, page)
	if got := p.tableRows["Fractions of the ceilings"]; got != 4*4 { // four scenarios, four backends with a ceiling
		t.Errorf("%d rows of fractions", got)
	}
	if p.tableRows["Ceilings"] != 2 || p.tableRows["On one idle connection"] != 2 || p.tableRows["All rows"] != len(s.Rows) {
		t.Errorf("rows of tables: %v", p.tableRows)
	}
	for _, want := range []string{"41.3 %", "4.29 %", "one statement for many", "2 measurements of 200 ms", "one divided by the other", "by a client without an engine", `href="#ceilings"`, "312 µs", "ceilings: something else was at work"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(page, "No method was recorded") {
		t.Error("a figure has no method")
	}
	plain, manifest := synthetic()
	if page := render(t, plain, manifest); strings.Contains(page, "ceiling") {
		t.Error("a page without ceilings speaks of them")
	}
}

// Figures are missing, and names are hostile or of a later version.
func TestPageOfHalfCeilings(t *testing.T) {
	for name, corrupt := range map[string]func(*record.Summary){
		"no idle":      func(s *record.Summary) { s.Ceilings.Idle = nil },
		"no rates":     func(s *record.Summary) { s.Ceilings.Rates = nil },
		"no fractions": func(s *record.Summary) { dropFractions(s) },
		"no rate":      func(s *record.Summary) { s.Rows[0].NodesPerS = nil },
		"hostile":      func(s *record.Summary) { s.Ceilings.Rates[0].Way, s.Rows[0].Ceiling = "<b>\x1b[2J", "<b>\x1b[2J" },
	} {
		s, m := withCeilings()
		s.Rows, s.Claims, m.Samples = s.Rows[:11], nil, nil
		corrupt(s)
		if p := parse(t, render(t, s, m)); p.count["b"] != 0 || !p.ids["ceilings"] {
			t.Errorf("%s: %v", name, p.count)
		}
		var text bytes.Buffer
		if err := reports.WriteText(&text, s, m); err != nil || strings.Contains(text.String(), "\x1b") {
			t.Errorf("%s: %v, %q", name, err, text.String())
		}
	}
}

func dropFractions(s *record.Summary) {
	for i := range s.Rows {
		s.Rows[i].CeilingFraction = nil
	}
}

func TestTextOfCeilings(t *testing.T) {
	s, m := withCeilings()
	s.Rows, s.Claims = s.Rows[:10], nil
	var b bytes.Buffer
	if err := reports.WriteText(&b, s, m); err != nil {
		t.Fatal(err)
	}
	golden(t, "fractions.txt", b.String())

	b.Reset()
	report := &record.CeilingReport{Tool: m.Tool, Host: m.Host, Postgres: m.Postgres, StartedAt: m.StartedAt, EndedAt: m.EndedAt, Methods: m.Methods[len(m.Methods)-2:], Ceilings: synthCeilings()}
	if err := reports.WriteCeilings(&b, report); err != nil {
		t.Fatal(err)
	}
	golden(t, "ceiling.txt", b.String())
	if err := reports.WriteCeilings(broken{}, report); err == nil {
		t.Error("a full disk is no error")
	}
}
