package verdicts

import (
	"fmt"
	"maps"
	"slices"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Chaos lays out the report on a chaos run.
func Chaos(c *record.Chaos, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "chaos", Answer: chaosAnswer(c), State: chaosState(c), Facts: []string{c.Backend, units.Plural(c.Engines, "engine"), fmt.Sprintf("seed %d", c.Seed)},
		Repeat: c.Repeat, Tool: chaosTool(c), Record: files,
	}
	for _, plot := range timelineCharts(c.Timeline) { // above each other, so that times are
		p.First = append(p.First, page.Block{Charts: []*chart.Plot{plot}})
	}
	if len(c.Why) > 0 {
		p.First = append(p.First, page.Block{Heading: "Why", List: page.Items(c.Why)})
	}
	var beyond []string
	for _, v := range c.Recovery.Verdicts {
		beyond = append(beyond, v.Beyond...)
	}
	p.Add(page.Section{ID: "recovery", Title: "Recovery after faults", Lead: recoveryLead(c.Recovery), Blocks: []page.Block{
		{Charts: recoveryCharts(c.Recovery)}, {Table: recoveryVerdictTable(c.Recovery.Verdicts)}, {List: page.Items(beyond)}, {Table: recoveryTable(c.Recovery)},
	}})
	if c.Soak != nil {
		p.Add(page.Section{ID: "soak", Title: "Growth", Lead: c.Soak.Method, Blocks: []page.Block{
			{Table: growthTable(c.Soak)}, {Charts: soakCharts(c.Soak, c.Timeline.Faults)},
		}})
	}
	p.Add(page.Section{ID: "faults", Title: "Faults that happened", Blocks: []page.Block{{Table: faultTable(c)}}})
	method := page.Section{ID: "method", Title: "The run"}
	for _, fact := range c.Facts {
		method.Blocks = append(method.Blocks, page.Block{Text: fact})
	}
	var left []page.Entry
	for _, kind := range slices.Sorted(maps.Keys(c.LeftOut)) {
		left = append(left, page.Entry{Name: kind, Text: c.LeftOut[kind]})
	}
	method.Blocks = append(method.Blocks, page.Block{Heading: "Left out", Entries: left})
	p.Add(method)
	return p
}

func chaosAnswer(c *record.Chaos) string {
	total := 0
	for _, n := range c.Faults {
		total += n
	}
	after := fmt.Sprintf("after %s on %s", units.Plural(total, "fault"), units.Plural(c.Engines, "engine"))
	switch c.Verdict {
	case "pass":
		return fmt.Sprintf("%s lost nothing and applied each completion once: %s, %s.", brief(c.Backend), units.Plural(c.Instances, "instance"), after)
	case "fail":
		return fmt.Sprintf("%s broke its promise: %s, %s.", brief(c.Backend), units.Plural(c.Instances, "instance"), after)
	}
	return fmt.Sprintf("Nothing can be said of %s: %s, %s.", brief(c.Backend), units.Plural(c.Instances, "instance"), after)
}

func chaosState(c *record.Chaos) page.State {
	s := page.State{Text: c.Verdict, Mark: page.Unclear}
	switch c.Verdict {
	case "pass":
		s.Text, s.Mark = "pass: the history keeps every invariant", page.Good
	case "fail":
		s.Text, s.Mark = "fail: the history violates an invariant", page.Bad
	}
	return s
}

func millisecondCell(v float64, n int) page.Cell {
	if n == 0 {
		return page.Figure(nil, nil, "")
	}
	return page.Figure(&v, func(ms float64) string { return units.Duration(ms * 1e6) }, "")
}

func recoveryTable(r record.Recovery) *page.Table {
	if r.Faults == 0 {
		return nil
	}
	t := &page.Table{Says: "Recovery after faults", Heads: []page.Head{{Name: "kind", Words: true}, {Name: "faults"}}}
	for _, what := range []string{"first completion", "95 % of the rate", "all continued", "all had ended"} {
		for _, q := range []string{"p50", "p99", "max"} {
			t.Heads = append(t.Heads, page.Head{Name: what, Unit: q})
		}
		t.Heads = append(t.Heads, page.Head{Name: what, Unit: "seen"})
	}
	add := func(name string, times record.RecoveryTimes) {
		cells := []page.Cell{page.Words(name), page.Whole(times.Faults)}
		for _, p := range []record.RecoveryPercentiles{times.First, times.Rate, times.Recovered, times.Finished} {
			cells = append(cells, millisecondCell(p.P50, p.N), millisecondCell(p.P99, p.N), millisecondCell(p.Max, p.N), page.Whole(p.N))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	add("all", r.RecoveryTimes)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		add(kind, r.Kinds[kind])
	}
	return t
}

func recoveryLead(r record.Recovery) string {
	return fmt.Sprintf("From the end of each fault until a completion was applied; until completions were applied at 95 %% of the rate since "+
		"the fault before, or, before the first, of %s/s; until each instance that was open at its end had a completion applied, or had ended; and until all those instances had ended. A fault after which the next one, or the "+
		"run's end, came sooner is not among those seen. A killed engine's work may be had by others after its lease and two sweeps: %s.",
		units.Number(r.RateWas), units.Duration(r.BoundMS*1e6))
}

func recoveryVerdictTable(verdicts []record.RecoveryVerdict) *page.Table {
	if len(verdicts) == 0 {
		return nil
	}
	t := &page.Table{Says: "Recovery against its bounds", Heads: []page.Head{
		{Name: "kind", Words: true}, {Name: "what comes back", Words: true}, {Name: "bound"}, {Name: "p99"}, {Name: "beyond"},
		{Name: "decided"}, {Name: "faults"}, {Name: "judgement", Words: true},
	}}
	for _, v := range verdicts {
		t.Rows = append(t.Rows, page.Row{Doubtful: v.Verdict == record.RecoveryMissed, Cells: []page.Cell{
			page.Words(v.Kind), page.Words(v.What + " within " + v.Bound), millisecondCell(v.BoundMS, 1), millisecondCell(v.P99, v.Decided),
			page.Whole(len(v.Beyond)), page.Whole(v.Decided), page.Whole(v.Faults), page.Words(v.Verdict),
		}})
	}
	return t
}

func faultTable(c *record.Chaos) *page.Table {
	if len(c.Faults) == 0 {
		return nil
	}
	t := &page.Table{Says: "Faults", Heads: []page.Head{{Name: "kind", Words: true}, {Name: "times"}}}
	for _, kind := range slices.Sorted(maps.Keys(c.Faults)) {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(kind), page.Whole(c.Faults[kind])}})
	}
	return t
}

func growthTable(s *record.Soak) *page.Table {
	t := &page.Table{Says: "Growth", Heads: []page.Head{
		{Name: "what", Words: true}, {Name: "begin"}, {Name: "end"}, {Name: "end / begin"}, {Name: "judgement", Words: true},
	}}
	for _, g := range s.Growth {
		ratio, judgement := page.Cell{Text: units.Missing, HasValue: true}, "shown only"
		if g.Begin > 0 {
			v := g.End / g.Begin
			ratio = page.Figure(&v, units.Times, "")
		}
		if g.Judged {
			if judgement = "within"; !g.Within {
				judgement = "grows"
			}
		}
		show := soakUnit(g.Unit).Format
		t.Rows = append(t.Rows, page.Row{Doubtful: !g.Within && g.Judged, Cells: []page.Cell{
			page.Words(g.Name), page.Figure(&g.Begin, show, ""), page.Figure(&g.End, show, ""), ratio, page.Words(judgement),
		}})
	}
	return t
}

func soakUnit(unit string) units.Unit {
	if unit == "bytes" {
		return units.ByteCount
	}
	return units.None
}

// chaosTool is unknown in earlier records.
func chaosTool(c *record.Chaos) string {
	if c.Tool.Name == "" {
		return "pulley chaos"
	}
	return c.Tool.String()
}
