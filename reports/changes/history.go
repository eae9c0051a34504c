package changes

import (
	"fmt"
	"strings"

	"pulley/bench/history"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// History lays out the report on figures over time. Those that changed come first.
func History(r *history.Report, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "history", Record: files, Tool: "pulley history", Repeat: strings.Join(r.Command, " "), Facts: []string{r.History, units.Plural(r.Runs, "run"), fmt.Sprintf("%d series", len(r.Series))},
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
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: f.Name()}, page.Whole(f.Runs), page.Figure(&f.Level, format, ""), page.Figure(&f.LastValue, format, ""), page.Whole(len(f.Changes)), change, {Text: between, Wrap: true}}})
	}
	return t
}
