package reports

import (
	"fmt"
	"io"
	"math"
	"strings"

	"pulley/bench/gate"
	"pulley/bench/history"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Gate lays out the report on a gate's decision: changed figures first, then all.
func Gate(r *gate.Report, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "gate", Answer: gateAnswer(r), Record: files, Tool: "pulley gate",
		State: page.State{Text: fmt.Sprintf("%s: exit code %d. %s", r.Outcome, r.Outcome.ExitCode(), r.Sentence), Mark: page.Unclear},
		Facts: []string{"baseline " + units.Clip(r.Baseline, mentionMax), "candidate " + units.Clip(r.Candidate, mentionMax), pairing(r.Paired),
			fmt.Sprintf("at most %s false alarms, margin %s", units.Percent(r.Alpha), units.Percent(r.Margin))},
	}
	switch r.Outcome {
	case gate.Passed:
		p.State.Mark = page.Good
	case gate.Regression:
		p.State.Mark = page.Bad
	}
	ordered := changedFirst(r.Lines)
	if c := ratioChart(ordered); c != nil {
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{c}})
	}
	if len(r.Doubts) > 0 {
		p.First = append(p.First, page.Block{Heading: "What cannot be excluded", List: items(r.Doubts)})
	}
	if len(ordered) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "lines", Title: "All figures", Lead: "The ratio is candidate over baseline, with the decision's interval. " +
			"p is the probability of such a difference by chance, corrected for the number of figures.", Blocks: []page.Block{{Table: gateTable(ordered)}}})
	}
	var other []page.Block
	for _, part := range []struct {
		heading string
		texts   []string
	}{{"Only in the baseline", r.OnlyBaseline}, {"Only in the candidate", r.OnlyCandidate}, {"Notes", r.Notes}} {
		if len(part.texts) > 0 {
			other = append(other, page.Block{Heading: part.heading, List: items(part.texts)})
		}
	}
	if len(other) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "rest", Title: "What was not compared", Blocks: other})
	}
	return p
}

// WriteGateHTML writes the report on a gate's decision as one self-contained page.
func WriteGateHTML(w io.Writer, r *gate.Report, files ...page.File) error {
	return Gate(r, files...).WriteHTML(w)
}

func pairing(paired bool) string {
	if paired {
		return "runs in pairs"
	}
	return "runs in two groups"
}

func gateAnswer(r *gate.Report) string {
	worse, better := 0, 0
	for _, l := range r.Lines {
		switch l.Decision {
		case record.Worse:
			worse++
		case record.Better:
			better++
		}
	}
	switch {
	case r.Outcome == gate.Regression:
		return fmt.Sprintf("%d of %s got worse, %d better.", worse, units.Plural(len(r.Lines), "figure"), better)
	case r.Outcome == gate.Passed:
		return fmt.Sprintf("No figure of %d got worse; %d got better.", len(r.Lines), better)
	}
	return fmt.Sprintf("No figure of %d is shown to be worse, but a regression cannot be excluded.", len(r.Lines))
}

// changedFirst has the worse ones first, then the better, then the undecided, then the rest, each as they came.
func changedFirst(lines []gate.Line) []gate.Line {
	var out []gate.Line
	for _, d := range []record.Decision{record.Worse, record.Better, record.Unclear, record.Same} {
		for _, l := range lines {
			if l.Decision == d {
				out = append(out, l)
			}
		}
	}
	return out
}

var decisionSeries = []struct {
	decision record.Decision
	name     string
	style    int
}{{record.Worse, "worse", 2}, {record.Better, "better", 1}, {record.Unclear, "not decided", 4}, {record.Same, "the same", 0}}

// gateRowsMost bounds the picture; the table has all.
const gateRowsMost = 30

func ratioChart(lines []gate.Line) *chart.Plot {
	p := &chart.Plot{
		Name: "ratios", Title: "Candidate over baseline", X: chart.Axis{Label: "ratio", Scale: chart.Linear, Unit: units.Ratio, Free: true}, Y: chart.Axis{Scale: chart.Rows},
		Rules: []chart.Rule{{At: 1, Upright: true, Name: "no change"}}, Method: "The pale bar is the interval of the decision.",
	}
	marks := make([]chart.Series, len(decisionSeries))
	for i, s := range decisionSeries {
		marks[i] = chart.Series{Name: s.name, Kind: chart.Dots, Style: s.style}
	}
	left := 0
	for _, l := range lines {
		if l.Ratio == nil || math.IsInf(l.Ratio.Median, 0) {
			continue
		}
		if len(p.Y.Names) == gateRowsMost {
			left++
			continue
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, l.Row+": "+l.Figure)
		for i, s := range decisionSeries {
			if s.decision == l.Decision {
				marks[i].Points = append(marks[i].Points, chart.Point{X: l.Ratio.Median, Y: row, Lo: l.Ratio.Lo, Hi: l.Ratio.Hi, Note: l.Note})
			}
		}
	}
	p.Series = marks
	if p.Empty() {
		return nil
	}
	if left > 0 {
		p.Method += fmt.Sprintf(" %d more are in the table.", left)
	}
	return p
}

func gateTable(lines []gate.Line) *page.Table {
	t := &page.Table{Says: "Every figure on both sides", Heads: []page.Head{
		{Name: "row", Words: true}, {Name: "figure", Words: true}, {Name: "baseline"}, {Name: "candidate"}, {Name: "ratio"}, {Name: "p"}, {Name: "excluded", Unit: "worse than"}, {Name: "decision", Words: true}, {Name: "note", Words: true},
	}}
	for _, l := range lines {
		decision := page.Cell{Text: string(l.Decision)}
		switch l.Decision {
		case record.Worse:
			decision.Mark = page.Bad
		case record.Better:
			decision.Mark = page.Good
		}
		ratio := page.Figure(nil, nil, "")
		if l.Ratio != nil {
			ratio = page.Figure(&l.Ratio.Median, units.Times, "["+units.Span(l.Ratio.Lo, l.Ratio.Hi, units.Number)+"]")
		}
		side := func(v *float64, runs int) page.Cell {
			return page.Figure(v, func(v float64) string { return strings.TrimSpace(units.Number(v) + " " + l.Unit) }, units.Plural(runs, "run"))
		}
		var remarks []string
		for _, text := range []string{l.NotCompared, l.Note} {
			if text != "" {
				remarks = append(remarks, text)
			}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: l.Row}, page.Words(l.Figure), side(l.Baseline, l.BaselineRuns), side(l.Candidate, l.CandidateRuns), ratio,
			page.Figure(l.P, units.Number, ""), page.Figure(l.Worst, units.Times, ""), decision, {Text: strings.Join(remarks, "; "), Wrap: true}}})
	}
	return t
}

// History lays out the report on figures over time. Those that changed come first.
func History(r *history.Report, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "history", Record: files, Tool: "pulley history", Facts: []string{r.History, units.Plural(r.Runs, "run"), fmt.Sprintf("%d series", len(r.Series))},
		State: page.State{Text: "Every series has enough runs to tell a change.", Mark: page.Good},
	}
	changed, worse, few := 0, 0, 0
	for _, f := range r.Series {
		if len(f.Changes) > 0 {
			changed++
			if f.Changes[len(f.Changes)-1].Direction == history.Worse {
				worse++
			}
		}
		if !f.Enough {
			few++
		}
	}
	p.Answer = fmt.Sprintf("%d of %d figures changed; %d of them for the worse at last.", changed, len(r.Series), worse)
	if few > 0 {
		p.State = page.State{Text: fmt.Sprintf("%d of %d series have too few runs to tell a change.", few, len(r.Series)), Mark: page.Unclear}
	}
	charts := historyCharts(r)
	if len(charts) > 0 {
		p.First = append(p.First, page.Block{Charts: charts[:min(2, len(charts))]})
	}
	if len(charts) > 2 {
		p.Sections = append(p.Sections, page.Section{ID: "series", Title: "Over time", Blocks: []page.Block{{Charts: charts[2:]}}})
	}
	p.Sections = append(p.Sections, page.Section{ID: "table", Title: "All series", Blocks: []page.Block{{Table: historyTable(r)}}})
	if len(r.Skipped) > 0 {
		var skipped []page.Item
		for _, s := range r.Skipped {
			skipped = append(skipped, page.Item{Text: s.Why, Where: fmt.Sprintf("line %d", s.Line)})
		}
		p.Sections = append(p.Sections, page.Section{ID: "skipped", Title: "Lines that do not count", Blocks: []page.Block{{List: skipped}}})
	}
	return p
}

// historyChartsMost bounds the pictures; the table has all.
const historyChartsMost = 24

func historyCharts(r *history.Report) []*chart.Plot {
	var out []*chart.Plot
	for _, withChange := range []bool{true, false} {
		for i := range r.Series {
			f := &r.Series[i]
			if len(f.Changes) > 0 != withChange || len(out) == historyChartsMost {
				continue
			}
			if c, err := CourseChart(CourseOf(f)); err == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// CourseOf is a series with the levels between its changes.
func CourseOf(f *history.Finding) Course {
	c := Course{Title: f.Name(), Caption: f.Conditions(), Values: f.Values, Unit: historyUnit(f.Figure)}
	for i, ch := range f.Changes {
		to := f.Runs
		if i+1 < len(f.Changes) {
			to = f.Changes[i+1].Index
		}
		if i == 0 {
			c.Levels = append(c.Levels, Level{From: 0, To: ch.Index, Value: ch.LevelBefore})
		}
		c.Levels = append(c.Levels, Level{From: ch.Index, To: to, Value: ch.LevelAfter, Name: ch.After.String()})
	}
	if len(f.Changes) == 0 {
		c.Levels = []Level{{From: 0, To: f.Runs, Value: f.Level}}
	}
	return c
}

func historyUnit(figure string) units.Unit {
	switch {
	case strings.HasSuffix(figure, "_ns"):
		return units.Nanoseconds
	case strings.HasSuffix(figure, "_bytes_per_node"):
		return units.ByteCount
	}
	return units.None
}

func historyTable(r *history.Report) *page.Table {
	t := &page.Table{Says: "All series", Heads: []page.Head{{Name: "series", Words: true}, {Name: "runs"}, {Name: "level"}, {Name: "last"}, {Name: "changes"}, {Name: "last change", Words: true}, {Name: "between", Words: true}}}
	for _, f := range r.Series {
		format := func(v float64) string { return history.FormatValue(f.Figure, v) }
		change, between := page.Cell{Text: "none"}, ""
		if !f.Enough {
			change.Text = "too few runs"
		}
		if n := len(f.Changes); n > 0 {
			ch := f.Changes[n-1]
			change.Text = ch.Direction
			switch ch.Direction {
			case history.Worse:
				change.Mark = page.Bad
			case history.Better:
				change.Mark = page.Good
			}
			if ch.Ratio != nil {
				change.Small = units.Times(ch.Ratio.Estimate) + " [" + units.Span(ch.Ratio.Lo, ch.Ratio.Hi, units.Number) + "]"
			}
			between = ch.Before.String() + " and " + ch.After.String()
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: f.Name()}, count(f.Runs), page.Figure(&f.Level, format, ""), page.Figure(&f.LastValue, format, ""), count(len(f.Changes)), change, {Text: between, Wrap: true}}})
	}
	return t
}
