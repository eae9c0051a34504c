package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/record"
)

func withStages() (*record.Summary, *record.Manifest) {
	s, m := synthetic()
	m.Methods = append(m.Methods, record.Method{Figure: "stages", Text: "by samples"})
	cost := func(stage string, us float64) record.StageCost {
		return record.StageCost{Stage: stage, Text: "what belongs to " + stage, USPerNode: record.Spread{Median: us, Lo: us / 2, Hi: us * 2}}
	}
	s.Rows[0].Stages = []record.StageCost{cost("store", 7.25), cost("in all", 9.5)}
	s.Rows[1].Stages = []record.StageCost{cost("store", 3), cost("in all", 4), cost("Postgres", 8.75)}
	return s, m
}

// A row's bar is made of its stages; the sums at their end would double it.
func TestStagesAreDrawnWithoutTheirSums(t *testing.T) {
	s, m := withStages()
	largest := &s.Rows[0]
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Scenario == largest.Scenario && r.Size > largest.Size {
			largest = r
		}
	}
	largest.Stages = append([]record.StageCost{{Stage: "planning", USPerNode: record.Spread{Median: 2, Lo: 2, Hi: 2}}}, s.Rows[1].Stages...)
	for _, c := range reports.Charts(s, m) {
		if c.Name != "stages" {
			continue
		}
		end := 0.0
		for _, bar := range c.Series {
			for _, pt := range bar.Points {
				end = max(end, pt.To)
			}
		}
		if end != 2+3 {
			t.Errorf("the bar ends at %v µs, want planning's 2 and the store's 3", end)
		}
		return
	}
	t.Error("there is no chart of stages")
}

func TestStagesAreShown(t *testing.T) {
	s, m := withStages()
	page := render(t, s, m)
	p := parse(t, page)
	if got := p.tableRows["Processor time by stage"]; got != 2 {
		t.Errorf("%d rows of stages, want 2", got)
	}
	var text bytes.Buffer
	if err := reports.WriteText(&text, s, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7.25", "3.62", "8.75", "what belongs to Postgres"} {
		if !strings.Contains(page, want) || !strings.Contains(text.String(), want) {
			t.Errorf("%q does not stand in both", want)
		}
	}
	for _, want := range []string{`href="#stages"`, "by samples", "processor time by stage"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	s, m = synthetic()
	if page := render(t, s, m); strings.Contains(page, "stages") || strings.Contains(page, "Processor time") {
		t.Error("a page without a profile speaks of one")
	}
}
