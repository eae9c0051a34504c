package verdicts

import (
	"fmt"
	"math"
	"strings"

	"pulley/bench/claim"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// Claims lays out the report on claims that were held against measurements.
func Claims(r *claim.Report, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "claims", Answer: claimsAnswer(r), State: claimsState(r), Tool: r.Tool.String(), Repeat: strings.Join(r.Command, " "), Record: files,
		Facts: []string{units.Instant(r.StartedAt), r.Host.CPU, units.Plural(r.Host.Cores, "core")},
	}
	if r.Postgres != nil {
		p.Facts = append(p.Facts, "Postgres "+r.Postgres.Version)
	}
	if c := claimChart(r.Claims); c != nil {
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{c}})
	}
	p.Add(page.Section{ID: "claims", Title: "Every claim", Lead: "A figure holds if its whole interval is on the claimed side, does not if it is on the other, and is open otherwise. A claim holds if all its figures do.",
		Blocks: []page.Block{{Table: claimTable(r.Claims)}}})
	for i, c := range r.Claims {
		p.Add(page.Section{ID: fmt.Sprintf("claim-%d", i+1), Title: fmt.Sprintf("%s: %s", c.ID, c.Verdict), Lead: c.Text, Blocks: claimBlocks(c)})
	}
	return p
}

// claimVerdicts are in the order in which they are counted, in words of one claim and of several.
var claimVerdicts = []struct {
	verdict   claim.Verdict
	one, more string
}{
	{claim.Holds, "holds", "hold"}, {claim.Fails, "does not hold", "do not hold"}, {claim.Depends, "depends", "depend"}, {claim.Compared, "is compared", "are compared"},
	{claim.OursOnly, "has only our figures", "have only our figures"}, {claim.Unmeasured, "is not measured", "are not measured"},
}

func claimsAnswer(r *claim.Report) string {
	count := map[claim.Verdict]int{}
	for _, c := range r.Claims {
		count[c.Verdict]++
	}
	var parts []string
	for _, v := range claimVerdicts {
		switch n := count[v.verdict]; {
		case n == 1:
			parts = append(parts, "1 "+v.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, v.more))
		}
	}
	if len(parts) == 0 {
		return "No claim was measured."
	}
	return fmt.Sprintf("Of %s, %s.", units.Plural(len(r.Claims), "claim"), units.List(parts))
}

func claimsState(r *claim.Report) page.State {
	missing := 0
	for _, c := range r.Claims {
		if !c.Measured() {
			missing++
		}
	}
	if missing > 0 || len(r.Claims) == 0 {
		return page.State{Text: fmt.Sprintf("%d of %s not measured in full; each says why", missing, units.Plural(len(r.Claims), "claim was", "claims were")), Mark: page.Unclear}
	}
	return page.State{Text: "every figure was measured; a claim that does not hold is a finding", Mark: page.Good}
}

// claimRowsMost bounds the picture; the table has all.
const claimRowsMost = 24

var figureSeries = []struct {
	verdict claim.Verdict
	style   int
}{{claim.Holds, 1}, {claim.Fails, 2}, {claim.Open, 4}}

// claimChart has what was measured of each figure over what is claimed of it; nil if no figure of which something is claimed was measured.
func claimChart(list []claim.Claim) *chart.Plot {
	p := &chart.Plot{
		Name: "claims", Title: "Measured over claimed", X: chart.Axis{Label: "measured / claimed", Scale: chart.Log, Unit: units.Ratio}, Y: chart.Axis{Scale: chart.Rows},
		Rules: []chart.Rule{{At: 1, Upright: true, Name: "claimed"}}, Method: "The marker is the median over runs, the pale bar its interval. Whether more or less is better stands with each row.",
	}
	marks := make([]chart.Series, len(figureSeries))
	for i, s := range figureSeries {
		marks[i] = chart.Series{Name: string(s.verdict), Kind: chart.Dots, Style: s.style}
	}
	left := 0
	for _, c := range list {
		for _, f := range c.Figures {
			if f.Bound == claim.Alongside || f.Median == nil || f.Lo == nil || f.Hi == nil || !(f.Claimed > 0) || !(*f.Median > 0) {
				continue
			}
			if len(p.Y.Names) == claimRowsMost {
				left++
				continue
			}
			row := float64(len(p.Y.Names))
			p.Y.Names = append(p.Y.Names, fmt.Sprintf("%s: %s, %s", c.ID, f.Name, f.Wanted()))
			for i, s := range figureSeries {
				if s.verdict == f.Verdict {
					marks[i].Points = append(marks[i].Points, chart.Point{X: *f.Median / f.Claimed, Y: row, Lo: *f.Lo / f.Claimed, Hi: *f.Hi / f.Claimed, Note: f.Line()})
				}
			}
		}
	}
	p.Series = marks
	if p.Empty() {
		return nil
	}
	p.Says = claimChartSays(list)
	if left > 0 {
		p.Method += fmt.Sprintf(" %d more are in the table.", left)
	}
	return p
}

// claimChartSays names the figure that is farthest on the wrong side.
func claimChartSays(list []claim.Claim) string {
	var worst string
	farthest := 0.0
	for _, c := range list {
		for _, f := range c.Figures {
			if f.Verdict != claim.Fails || f.Median == nil || !(f.Claimed > 0) || !(*f.Median > 0) {
				continue
			}
			if d := math.Abs(math.Log(*f.Median / f.Claimed)); d > farthest {
				farthest, worst = d, fmt.Sprintf("Farthest from its claim: %s, %s, %s of it.", c.ID, f.Name, units.Times(*f.Median/f.Claimed))
			}
		}
	}
	if worst == "" {
		return "No figure is shown to be on the wrong side of its claim."
	}
	return worst
}

func claimMark(v claim.Verdict) page.Mark {
	switch v {
	case claim.Holds, claim.Compared:
		return page.Good
	case claim.Fails:
		return page.Bad
	}
	return page.Unclear
}

func claimTable(list []claim.Claim) *page.Table {
	if len(list) == 0 {
		return nil
	}
	t := &page.Table{Says: "Claims and their verdicts", Heads: []page.Head{{Name: "claim", Words: true}, {Name: "verdict", Words: true}, {Name: "what is claimed", Words: true}, {Name: "source", Words: true}}}
	for _, c := range list {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(c.ID), {Text: string(c.Verdict), Mark: claimMark(c.Verdict)}, {Text: c.Text, Wrap: true}, {Text: c.Source, Wrap: true}}})
	}
	return t
}

func claimBlocks(c claim.Claim) []page.Block {
	facts := []page.Entry{{Name: "source", Text: c.Source}}
	if p := c.Published; p != nil {
		facts = append(facts, page.Entry{Name: "published by", Text: p.By}, page.Entry{Name: "date", Text: p.Date}, page.Entry{Name: "shape", Text: p.Shape},
			page.Entry{Name: "hardware", Text: p.Hardware}, page.Entry{Name: "commits", Text: p.Durability}, page.Entry{Name: "differs", Text: p.Differs})
	}
	facts = append(facts, page.Entry{Name: "method", Text: c.Method}, page.Entry{Name: "why", Text: c.Why}, page.Entry{Name: "again", Text: c.Command})
	var known []page.Entry
	for _, e := range facts {
		if e.Text != "" {
			known = append(known, e)
		}
	}
	return []page.Block{{Table: figureTable(c)}, {Entries: known}}
}

func figureTable(c claim.Claim) *page.Table {
	if len(c.Figures) == 0 {
		return nil
	}
	t := &page.Table{Says: "Figures of " + c.ID, Heads: []page.Head{{Name: "figure", Words: true}, {Name: "measured"}, {Name: "claimed", Words: true}, {Name: "runs"}, {Name: "verdict", Words: true}, {Name: "note", Words: true}}}
	for _, f := range c.Figures {
		small := ""
		if f.Lo != nil && f.Hi != nil {
			small = "[" + claim.Number(*f.Lo) + ", " + claim.Number(*f.Hi) + "]"
		}
		wanted, verdict := page.Words(f.Wanted()), page.Cell{Text: string(f.Verdict), Mark: claimMark(f.Verdict)}
		if f.Bound == claim.Alongside {
			wanted = page.Words(units.Missing)
			if f.Verdict != claim.Unmeasured {
				verdict = page.Words("shown only")
			}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: f.Name, Wrap: true}, page.Figure(f.Median, func(v float64) string { return strings.TrimSpace(claim.Number(v) + " " + f.Unit) }, small), wanted, page.Whole(f.Runs), verdict, {Text: f.Note, Wrap: true}}})
	}
	return t
}
