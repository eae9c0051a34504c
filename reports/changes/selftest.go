package changes

import (
	"fmt"
	"strings"

	"pulley/bench/gate"
	"pulley/bench/stats"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// SelfTest lays out the report on a gate's test of itself: how often it found each thing that was planted.
func SelfTest(s *gate.SelfTest, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "gate", Answer: selfTestAnswer(s), Tool: "pulley gate", Repeat: strings.Join(s.Command, " "), Record: files,
		State: page.State{Text: s.Sentence() + ".", Mark: page.Good},
		Facts: []string{"test of itself", units.Plural(s.Tries(), "try", "tries"), units.Plural(s.Pairs, "pair") + " a try", fmt.Sprintf("seed %d", s.Seed)},
	}
	if s.Disturbed {
		p.Facts = append(p.Facts, "other work coming and going")
	}
	switch {
	case s.Interrupted:
		p.State.Mark = page.Unclear
	case !s.OK:
		p.State.Mark = page.Bad
	}
	if c := plantChart(s); !c.Empty() {
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{c}})
	}
	p.Add(page.Section{ID: "planted", Title: "What was planted", Lead: "In a try, the candidate is the baseline with something planted. A share is a slowdown by so much of the time per node, row a row read more per node. " +
		"Where nothing is planted, a regression is a false alarm.", Blocks: []page.Block{{Table: plantTable(s)}}})
	return p
}

// selfTestAnswer counts tries in which something was planted.
func selfTestAnswer(s *gate.SelfTest) string {
	alarms, same := s.FalseAlarms()
	found, tries := -alarms, s.Tries()-same
	for _, x := range s.Results {
		found += x.Found
	}
	var parts []string
	if tries > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s with something planted were found", found, units.Plural(tries, "try", "tries")))
	}
	if same > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s of the same", units.Plural(alarms, "false alarm"), units.Plural(same, "comparison")))
	}
	if len(parts) == 0 {
		return "No try was made."
	}
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

func plantChart(s *gate.SelfTest) *chart.Plot {
	p := &chart.Plot{
		Name: "planted", Title: "Share of tries in which it was found", Labeled: true, X: chart.Axis{Scale: chart.Linear, Unit: units.Share}, Y: chart.Axis{Scale: chart.Rows},
		Method: fmt.Sprintf("The pale bar is the interval with %s confidence (Clopper and Pearson).", units.Percent(stats.Confidence)),
	}
	marks := []chart.Series{{Name: "as it must be", Kind: chart.Dots, Style: 1}, {Name: "not as it must be", Kind: chart.Dots, Style: 2}}
	var said []string
	for _, x := range s.Results {
		if x.Tries == 0 {
			continue
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, plantName(x.Planted))
		lo, hi := stats.ShareInterval(x.Found, x.Tries, stats.Confidence)
		series := &marks[1]
		if x.OK {
			series = &marks[0]
		}
		note := fmt.Sprintf("%d of %d, needed: %s", x.Found, x.Tries, x.Needed)
		series.Points = append(series.Points, chart.Point{X: float64(x.Found) / float64(x.Tries), Y: row, Lo: lo, Hi: hi, Note: note})
		said = append(said, fmt.Sprintf("%s: %d of %d", plantName(x.Planted), x.Found, x.Tries))
	}
	p.Series, p.Says = marks, strings.Join(said, "; ")+"."
	return p
}

func plantName(planted string) string {
	switch planted {
	case gate.NothingPlanted:
		return "nothing planted"
	case "row":
		return "a row read more"
	}
	return "slower by " + planted
}

func plantTable(s *gate.SelfTest) *page.Table {
	if len(s.Results) == 0 {
		return nil
	}
	t := &page.Table{Says: "What was planted, and how often it was found", Heads: []page.Head{
		{Name: "planted", Words: true}, {Name: "tries"}, {Name: "found"}, {Name: "needed", Words: true}, {Name: "inconclusive"}, {Name: "time", Unit: "a try"}, {Name: "verdict", Words: true},
	}}
	for _, x := range s.Results {
		verdict := page.Cell{Text: "as it must be", Mark: page.Good}
		if !x.OK {
			verdict = page.Cell{Text: "not as it must be", Mark: page.Bad}
		}
		tries := page.Whole(x.Tries)
		if x.Planned > 0 {
			tries.Small = fmt.Sprintf("of %d", x.Planned)
		}
		ns := x.SecondsATry * 1e9
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(plantName(x.Planted)), tries, page.Whole(x.Found), page.Words(x.Needed), page.Whole(x.Inconclusive), page.Figure(&ns, units.Duration, ""), verdict}})
	}
	return t
}
