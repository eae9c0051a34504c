package verdicts

import (
	"fmt"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Night lays out the report on a night of our own tests: what failed first.
func Night(n *record.Night, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "night", Tool: "cmd/suite, revision " + n.Revision, Record: files, Repeat: "make nightly NIGHT=" + n.Night, Answer: nightAnswer(n), State: nightState(n),
		Facts: []string{units.Instant(n.Began), span(n.Seconds) + " of " + n.Night, "commit " + n.Revision, n.Machine},
	}
	p.First = []page.Block{{Table: nightTable(n)}}
	if c := nightChart(n); c != nil {
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{c}})
	}
	for _, worst := range []string{record.NightFail, record.NightInconclusive, record.NightPass} {
		for i, part := range n.Parts {
			if part.Verdict == worst {
				p.Add(nightSection(i, part))
			}
		}
	}
	return p
}

func nightCounts(n *record.Night) (failed, inconclusive int) {
	for _, part := range n.Parts {
		switch part.Verdict {
		case record.NightFail:
			failed++
		case record.NightInconclusive:
			inconclusive++
		}
	}
	return failed, inconclusive
}

func nightAnswer(n *record.Night) string {
	failed, inconclusive := nightCounts(n)
	switch of := units.Plural(len(n.Parts), "part"); {
	case failed > 0:
		return fmt.Sprintf("The night failed: %d of %s failed, %d inconclusive.", failed, of, inconclusive)
	case inconclusive > 0:
		return fmt.Sprintf("The night was inconclusive: %d of %s, and none failed.", inconclusive, of)
	default:
		return fmt.Sprintf("The night passed: all of %s.", of)
	}
}

func nightState(n *record.Night) page.State {
	s := page.State{Text: n.Verdict, Mark: page.Unclear}
	switch n.Verdict {
	case record.NightPass:
		s.Mark = page.Good
	case record.NightFail:
		s.Mark = page.Bad
	}
	if !n.Ended {
		s.Text += "; broken off: not every part ran"
		if s.Mark == page.Good {
			s.Mark = page.Unclear
		}
	}
	return s
}

func verdictCell(verdict string) page.Cell {
	marks := map[string]page.Mark{record.NightPass: page.Good, record.NightFail: page.Bad, record.NightInconclusive: page.Unclear}
	return page.Cell{Text: verdict, Mark: marks[verdict]}
}

func nightTable(n *record.Night) *page.Table {
	t := &page.Table{Says: "The parts of the night", Heads: []page.Head{{Name: "part", Words: true}, {Name: "verdict", Words: true}, {Name: "time"}, {Name: "budget"}, {Name: "how much", Words: true}}}
	for _, part := range n.Parts {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(part.Part), verdictCell(part.Verdict), secondsCell(part.Seconds), secondsCell(part.Budget), {Text: counted(part), Wrap: true}}})
	}
	return t
}

func counted(part *record.NightPart) string {
	var out []string
	for _, c := range part.Counts {
		out = append(out, units.Thousands(c.N)+" "+c.What)
	}
	return strings.Join(out, ", ")
}

func nightChart(n *record.Night) *chart.Plot {
	p := &chart.Plot{Name: "night", Title: "Time of each part", X: chart.Axis{Label: "time", Scale: chart.Linear, Unit: units.Seconds}, Y: chart.Axis{Scale: chart.Rows}, Says: fmt.Sprintf("%s of %s in all.", span(n.Seconds), n.Night), Method: "The grey line is what the part may take."}
	took := chart.Series{Name: "took", Kind: chart.Spans}
	most := chart.Series{Name: "budget", Kind: chart.Ticks, Neutral: true}
	for i, part := range n.Parts {
		p.Y.Names = append(p.Y.Names, part.Part)
		took.Points = append(took.Points, chart.Point{X: 0, To: part.Seconds, Y: float64(i), Note: part.Verdict})
		most.Points = append(most.Points, chart.Point{X: part.Budget, Y: float64(i)})
	}
	p.Series = []chart.Series{took, most}
	if p.Empty() {
		return nil
	}
	return p
}

// nightSection is nil of blocks for a part about which there is nothing to say.
func nightSection(i int, part *record.NightPart) page.Section {
	s := page.Section{ID: fmt.Sprintf("part-%d", i+1), Title: part.Part + ": " + part.Verdict, Lead: part.About + "."}
	s.Blocks = append(s.Blocks, page.Block{List: page.Items(part.Notes)})
	for _, x := range part.Problems {
		s.Blocks = append(s.Blocks, page.Block{Heading: x.What, Text: again(x)})
		if x.Output != "" {
			s.Blocks = append(s.Blocks, page.Block{Fold: "Its output", Code: x.Output})
		}
	}
	return s
}

func again(x record.NightProblem) string {
	if x.Again == "" {
		return "What repeats it is not known."
	}
	return "Again: " + x.Again
}
