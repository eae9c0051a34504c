package changes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/bench/gate"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Gate lays out the report on a gate's decision: changed figures first, then all.
func Gate(r *gate.Report, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "gate", Answer: gateAnswer(r), Record: files, Tool: "pulley gate", Repeat: strings.Join(r.Command, " "),
		State: page.State{Text: verdict(r), Mark: page.Unclear},
		Facts: []string{"baseline " + units.Clip(r.Baseline, 60), "candidate " + units.Clip(r.Candidate, 60), pairing(r.Paired),
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
	p.First = append(p.First, doubts(r)...)
	if list := changed(ordered); len(list) > 0 {
		p.Add(page.Section{ID: "changed", Title: "What changed", Blocks: []page.Block{{Table: gateTable(list)}}})
	}
	if len(ordered) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "lines", Title: "All figures", Folded: len(ordered) > gateRowsMost, Lead: "The ratio is candidate over baseline, with the decision's interval. " +
			"p is the probability of such a difference by chance, corrected for the number of figures.", Blocks: []page.Block{{Table: gateTable(ordered)}}})
	}
	var other []page.Block
	for _, part := range []struct {
		heading string
		texts   []string
	}{{"Only in the baseline", r.OnlyBaseline}, {"Only in the candidate", r.OnlyCandidate}, {"Notes", r.Notes}} {
		if len(part.texts) > 0 {
			other = append(other, page.Block{Heading: part.heading, List: page.Items(part.texts)})
		}
	}
	if len(other) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "rest", Title: "What was not compared", Blocks: other})
	}
	return p
}

// doubtsMost are shown at once.
const doubtsMost = 6

func doubts(r *gate.Report) (out []page.Block) {
	shown := min(len(r.Doubts), doubtsMost)
	if shown > 0 {
		out = append(out, page.Block{Heading: "What cannot be excluded", List: page.Items(r.Doubts[:shown])})
	}
	if left := r.Doubts[shown:]; len(left) > 0 {
		out = append(out, page.Block{Fold: fmt.Sprintf("%d more doubts", len(left)), List: page.Items(left)})
	}
	return out
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

// changedFirst has the worse ones first, then the better, the undecided and the rest, each with the largest change first.
func changedFirst(lines []gate.Line) []gate.Line {
	var out []gate.Line
	for _, d := range []record.Decision{record.Worse, record.Better, record.Unclear, record.Same} {
		from := len(out)
		for _, l := range lines {
			if l.Decision == d {
				out = append(out, l)
			}
		}
		slices.SortStableFunc(out[from:], func(a, b gate.Line) int { return cmp.Compare(distance(b), distance(a)) })
	}
	return out
}

// distance is how far a ratio is from no change, whichever way.
func distance(l gate.Line) float64 {
	if l.Ratio == nil || l.Ratio.Median <= 0 {
		return 0
	}
	return math.Abs(math.Log(l.Ratio.Median))
}

// changed are the worse and the better ones.
func changed(lines []gate.Line) []gate.Line {
	return slices.DeleteFunc(slices.Clone(lines), func(l gate.Line) bool { return l.Decision != record.Worse && l.Decision != record.Better })
}

var decisionSeries = []struct {
	decision record.Decision
	name     string
	style    int
}{{record.Worse, "worse", 2}, {record.Better, "better", 1}, {record.Unclear, "not decided", 4}, {record.Same, "the same", 0}}

// gateRowsMost bounds the picture; the table has all.
const gateRowsMost = 16

// verdict is the outcome with its reason, which begins with it, and how pulley gate exits.
func verdict(r *gate.Report) string {
	return fmt.Sprintf("%s Exit code %d of pulley gate.", r.Sentence, r.Outcome.ExitCode())
}

func ratioChart(lines []gate.Line) *chart.Plot {
	p := &chart.Plot{
		Name: "ratios", Title: "Candidate over baseline", X: chart.Axis{Label: "ratio", Scale: chart.Log, Unit: units.Ratio}, Y: chart.Axis{Scale: chart.Rows},
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
		p.Y.Names = append(p.Y.Names, l.Figure+": "+l.Row)
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
	p.Says = farthest(lines)
	if left > 0 {
		p.Method += fmt.Sprintf(" %d more are in the table.", left)
	}
	return p
}

// farthest names the first lines of each decision that is a change, which have changed most.
func farthest(lines []gate.Line) string {
	var parts []string
	for _, d := range []record.Decision{record.Worse, record.Better} {
		i := slices.IndexFunc(lines, func(l gate.Line) bool { return l.Decision == d && l.Ratio != nil })
		if i >= 0 {
			l := lines[i]
			parts = append(parts, fmt.Sprintf("%s most: %s, %s [%s]", d, l.Key, units.Times(l.Ratio.Median), units.Span(l.Ratio.Lo, l.Ratio.Hi, units.Number)))
		}
	}
	if len(parts) == 0 {
		return "No figure is shown to have changed."
	}
	return strings.Join(parts, "; ") + "."
}

func inUnit(v float64, unit string) string {
	switch unit {
	case gate.UnitSeconds:
		return units.Duration(v * 1e9)
	case gate.UnitBytes:
		return units.Bytes(v)
	}
	return strings.TrimSpace(units.Number(v) + " " + unit)
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
			return page.Figure(v, func(v float64) string { return inUnit(v, l.Unit) }, units.Plural(runs, "run"))
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
