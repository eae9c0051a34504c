package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Ceilings lays out the report on what raw SQL achieves on a server. The report's Ceilings are not nil.
func Ceilings(r *record.CeilingReport, files ...page.File) *page.Page {
	c := r.Ceilings
	v := newView(&record.Summary{Ceilings: c}, &record.Manifest{
		Command: r.Command, Tool: r.Tool, Host: r.Host, Postgres: r.Postgres, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Methods: r.Methods,
	})
	p := &page.Page{
		Kind: "ceiling", Answer: ceilingAnswer(c), State: ceilingState(c), Facts: append(v.facts(), measurements(c)+" a point"),
		Repeat: strings.Join(r.Command, " "), Tool: r.Tool.String(), Record: files,
	}
	for _, plot := range []*chart.Plot{ceilingRateChart(c), connectionChart(c)} {
		if plot != nil && !plot.Empty() {
			p.First = append(p.First, page.Block{Charts: []*chart.Plot{plot}})
		}
	}
	p.Add(page.Section{ID: "ceilings", Title: "The best point of each way", Lead: "Beneath each rate stands its range over the measurements.", Blocks: []page.Block{{Table: v.ceilingTable()}}})
	p.Add(page.Section{ID: "points", Title: "By connections", Lead: "Completions per second, medians over the measurements.", Blocks: []page.Block{{Table: pointTable(c)}}})
	p.Add(page.Section{ID: "idle", Title: "What latency is held against", Blocks: []page.Block{{Table: v.idleTable()}}})
	p.Add(page.Section{ID: "warnings", Title: "Warnings", Blocks: []page.Block{{List: page.Items(c.Warnings)}}})
	method := page.Section{ID: "method", Title: "How it was measured"}
	var methods []page.Entry
	for _, m := range r.Methods {
		methods = append(methods, entry(m.Figure, m.Text))
	}
	method.Blocks = []page.Block{{Heading: "Methods", Entries: methods}, {Heading: "Run", Entries: v.run()}, {Fold: "Settings of the server", Entries: v.settings()}}
	p.Add(method)
	return p
}

func ceilingAnswer(c *record.Ceilings) string {
	var best *record.CeilingRate
	for i := range c.Rates {
		if best == nil || c.Rates[i].NodesPerS.Median > best.NodesPerS.Median {
			best = &c.Rates[i]
		}
	}
	if best == nil {
		return "No rate was measured."
	}
	return fmt.Sprintf("Raw SQL makes %s completions durable a second, by %s.", units.Number(best.NodesPerS.Median), best.Way)
}

func ceilingState(c *record.Ceilings) page.State {
	if n := len(c.Warnings); n > 0 {
		return page.State{Text: units.Plural(n, "warning") + ": see below", Mark: page.Unclear}
	}
	return page.State{Text: units.Plural(c.Measurements, "measurement") + " of each point, and nothing speaks against them", Mark: page.Good}
}

// ceilingRateChart has a row for each way, from the fastest down.
func ceilingRateChart(c *record.Ceilings) *chart.Plot {
	p := &chart.Plot{
		Name: "ceilings", Title: "Completions made durable per second, by way of writing", Labeled: true, X: chart.Axis{Label: "completions / s", Scale: chart.Linear}, Y: chart.Axis{Scale: chart.Rows},
		Method: "The best number of connections and of completions in a call. The marker is the median, the pale bar the range over the measurements.",
	}
	rates := slices.Clone(c.Rates)
	slices.SortStableFunc(rates, func(a, b record.CeilingRate) int { return cmp.Compare(b.NodesPerS.Median, a.NodesPerS.Median) })
	s := chart.Series{Kind: chart.Dots}
	for i, r := range rates {
		name := inWords(wayNames, r.Way)
		if r.NodesPerInstance > 0 {
			name += ", instances of " + units.Plural(r.NodesPerInstance, "node")
		}
		p.Y.Names = append(p.Y.Names, name)
		s.Points = append(s.Points, chart.Point{X: r.NodesPerS.Median, Y: float64(i), Lo: r.NodesPerS.Lo, Hi: r.NodesPerS.Hi, Note: units.Number(r.NodesPerS.Median) + "/s, " + units.Plural(r.Connections, "connection")})
	}
	p.Series = []chart.Series{s}
	if n := len(rates); n > 0 {
		p.Says = fmt.Sprintf("From %s/s (%s) down to %s/s (%s).", units.Number(rates[0].NodesPerS.Median), rates[0].Way, units.Number(rates[n-1].NodesPerS.Median), rates[n-1].Way)
	}
	return p
}

// connectionChart has a curve for each way, at its best number of completions in a call.
func connectionChart(c *record.Ceilings) *chart.Plot {
	p := &chart.Plot{
		Name: "ceilings-connections", Title: "By the number of connections", X: chart.Axis{Label: "connections", Scale: chart.Log}, Y: chart.Axis{Label: "completions / s", Scale: chart.Log},
		Method: "Medians over the measurements, with as many completions in a call as are best for the way; a whisker is their range.",
	}
	for i, r := range c.Rates {
		s := chart.Series{Name: wayLabel(&r), Kind: chart.Lines, Style: i}
		for _, pt := range r.Points {
			if pt.Batch == r.Batch && len(pt.NodesPerS) > 0 {
				s.Points = append(s.Points, chart.Point{X: float64(pt.Connections), Y: median(pt.NodesPerS), Lo: slices.Min(pt.NodesPerS), Hi: slices.Max(pt.NodesPerS)})
			}
		}
		slices.SortFunc(s.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		p.Series = append(p.Series, s)
	}
	if len(c.Rates) > 0 {
		var parts []string
		for i := range c.Rates {
			parts = append(parts, fmt.Sprintf("%s is fastest on %d", wayLabel(&c.Rates[i]), c.Rates[i].Connections))
		}
		p.Says = units.List(parts) + "."
	}
	return p
}

func wayLabel(r *record.CeilingRate) string {
	if r.NodesPerInstance > 0 {
		return fmt.Sprintf("%s, %d nodes", r.Way, r.NodesPerInstance)
	}
	return r.Way
}

func pointTable(c *record.Ceilings) *page.Table {
	about, connections, lines := pointLines(c)
	if len(lines) == 0 {
		return nil
	}
	t := &page.Table{Says: "Rates by way, completions in a call, and connections"}
	for _, name := range about {
		t.Heads = append(t.Heads, page.Head{Name: name, Words: true})
	}
	for _, name := range connections {
		t.Heads = append(t.Heads, page.Head{Name: name})
	}
	for _, line := range lines {
		var cells []page.Cell
		for _, text := range line.about {
			cells = append(cells, page.Words(text))
		}
		for _, rate := range line.rates {
			cells = append(cells, page.Figure(rate, units.Number, ""))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	return t
}
