package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

var wayNames = map[string]string{
	record.CeilingStatements: "statements in a transaction", record.CeilingCall: "one statement",
	record.CeilingBatched: "one statement for many", record.CeilingAppend: "an event each, many in one fenced insert",
	record.CeilingPacked: "the same events, packed into rows of a page", record.CeilingCopy: "an event each, by COPY",
}

var idleNames = map[string]string{
	record.IdleCommit: "update of one row, committed", record.IdleTransaction: "a completion's transaction of four statements",
	record.IdleCall: "a completion in one statement", record.IdleAppend: "a completion's event, appended",
}

func inWords(names map[string]string, name string) string {
	if text, ok := names[name]; ok {
		return text
	}
	return name
}

func percent(v float64) string { return units.Number(100*v) + " %" }

func (v *view) held() bool {
	return slices.ContainsFunc(v.summary.Rows, func(r record.Row) bool { return r.CeilingFraction != nil })
}

// fractionTable shows every backend as a fraction of its ceiling, at each scenario's largest size; nil if none has one.
func (v *view) fractionTable() *page.Table {
	t := &page.Table{Says: "Fractions of the ceilings", Heads: []page.Head{
		{Name: "scenario", Words: true}, {Name: "nodes"}, {Name: "backend", Words: true}, {Name: "nodes/s", Method: v.method("nodes_per_s")},
		{Name: "of its ceiling", Method: v.method("ceiling_fraction")}, {Name: "ceiling", Unit: "nodes/s", Method: v.method("ceilings")}, {Name: "which is", Words: true}, {Name: "with instances of", Words: true},
	}}
	for i := range v.families {
		f := &v.families[i]
		size, _ := f.largest()
		for _, r := range f.rows {
			rate := v.summary.Ceilings.RateFor(r.Ceiling, r.Nodes, r.InstanceWrites)
			if !r.Valid || r.Size != size || r.CeilingFraction == nil || r.NodesPerS == nil || rate == nil {
				continue
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
				{Text: f.name()}, count(r.Nodes), page.Words(r.Backend), page.Figure(&r.NodesPerS.Median, units.Number, units.Span(r.NodesPerS.Lo, r.NodesPerS.Hi, units.Number)),
				page.Figure(r.CeilingFraction, units.Percent, ""), rateCell(rate), page.Words(inWords(wayNames, r.Ceiling)), shapeCell(rate),
			}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func shapeCell(r *record.CeilingRate) page.Cell {
	if r.NodesPerInstance == 0 {
		return page.Cell{Text: units.Missing}
	}
	if r.Writes == nil {
		return count(r.NodesPerInstance)
	}
	return page.Words(graphText(r.Writes))
}

func graphText(w *record.InstanceWrites) string {
	text := units.Plural(w.Nodes, "node")
	if w.Values > 0 {
		text += ", " + units.Plural(w.Values, "value")
	}
	if w.Elements > 0 {
		text += ", " + units.Plural(w.Elements, "element")
	}
	if w.Raises > 0 {
		text += ", " + units.Plural(w.Raises, "raise") + " of " + units.Plural(w.Counters, "counter")
	}
	return text
}

func rateCell(r *record.CeilingRate) page.Cell {
	return page.Figure(&r.NodesPerS.Median, units.Number, units.Span(r.NodesPerS.Lo, r.NodesPerS.Hi, units.Number))
}

func (v *view) ceilingTable() *page.Table {
	c := v.summary.Ceilings
	if c == nil || len(c.Rates) == 0 {
		return nil
	}
	t := &page.Table{Says: "Ceilings", Heads: []page.Head{
		{Name: "the writes of a completion", Words: true}, {Name: "nodes/s", Method: v.method("ceilings")}, {Name: "completions", Unit: "a call"}, {Name: "connections"}, {Name: "instances of", Words: true},
	}}
	for i := range c.Rates {
		r := &c.Rates[i]
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: inWords(wayNames, r.Way)}, rateCell(r), count(r.Batch), count(r.Connections), shapeCell(r)}})
	}
	return t
}

func (v *view) idleTable() *page.Table {
	c := v.summary.Ceilings
	if c == nil || len(c.Idle) == 0 {
		return nil
	}
	t := &page.Table{Says: "On one idle connection", Heads: []page.Head{{Name: "on one idle connection", Words: true}}}
	for _, p := range []string{"p50", "p99", "p99.9", "max"} {
		t.Heads = append(t.Heads, page.Head{Name: p, Method: v.method("idle")})
	}
	for _, l := range c.Idle {
		cells := []page.Cell{{Text: inWords(idleNames, l.What)}}
		for _, ns := range []int64{l.LatencyNS.P50, l.LatencyNS.P99, l.LatencyNS.P999, l.LatencyNS.Max} {
			cells = append(cells, nanos(true, ns))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	return t
}

func measurements(c *record.Ceilings) string {
	return fmt.Sprintf("%s of %s", units.Plural(c.Measurements, "measurement"), units.Duration(float64(c.PointNS)))
}

func (v *view) writeCeilings(b *bytes.Buffer) {
	c := v.summary.Ceilings
	if c == nil {
		return
	}
	fmt.Fprintf(b, "\nWhat raw SQL did on the same server for the writes of a completion   (%s a point)\n", measurements(c))
	writeRates(b, c)
	writeIdle(b, c)
}

func shaped(c *record.Ceilings) bool {
	return slices.ContainsFunc(c.Rates, func(r record.CeilingRate) bool { return r.NodesPerInstance != 0 })
}

func writeRates(b *bytes.Buffer, c *record.Ceilings) {
	t := columns{left: map[int]bool{0: true, 1: true}}
	head := []string{"ceiling", "", "nodes/s", "[lo, hi]", "a call", "connections"}
	if shaped(c) {
		head = append(head, "instances of")
	}
	t.add(head...)
	for _, r := range c.Rates {
		cells := []string{r.Way, inWords(wayNames, r.Way), units.Number(r.NodesPerS.Median), "[" + units.Number(r.NodesPerS.Lo) + ", " + units.Number(r.NodesPerS.Hi) + "]",
			units.Thousands(int64(r.Batch)), units.Thousands(int64(r.Connections))}
		if shaped(c) {
			cells = append(cells, shapeCell(&r).Text)
		}
		t.add(cells...)
	}
	if len(c.Rates) > 0 {
		t.write(b)
	}
}

func writeIdle(b *bytes.Buffer, c *record.Ceilings) {
	if len(c.Idle) == 0 {
		return
	}
	t := columns{left: map[int]bool{0: true, 1: true}}
	t.add("idle", "on one idle connection", "p50", "p99", "p99.9", "max")
	for _, l := range c.Idle {
		t.add(l.What, inWords(idleNames, l.What), units.Duration(float64(l.LatencyNS.P50)), units.Duration(float64(l.LatencyNS.P99)),
			units.Duration(float64(l.LatencyNS.P999)), units.Duration(float64(l.LatencyNS.Max)))
	}
	b.WriteByte('\n')
	t.write(b)
}

// pointLine is a way with a number of completions in a call: its rates by the number of connections, nil where there was no measurement.
type pointLine struct {
	about []string
	rates []*float64
}

// pointLines has the lines, below the heads of both their parts.
func pointLines(c *record.Ceilings) (about, connections []string, out []pointLine) {
	var numbers []int
	for _, r := range c.Rates {
		for _, p := range r.Points {
			if !slices.Contains(numbers, p.Connections) {
				numbers = append(numbers, p.Connections)
			}
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		connections = append(connections, units.Plural(n, "connection"))
	}
	if about = []string{"nodes/s", "a call"}; shaped(c) {
		about = append(about, "instances of")
	}
	for _, r := range c.Rates {
		var batches []int
		for _, p := range r.Points {
			if slices.Contains(batches, p.Batch) {
				continue
			}
			batches = append(batches, p.Batch)
			line := pointLine{about: []string{r.Way, units.Thousands(int64(p.Batch))}}
			if shaped(c) {
				line.about = append(line.about, shapeCell(&r).Text)
			}
			for _, n := range numbers {
				line.rates = append(line.rates, rateAt(r.Points, p.Batch, n))
			}
			out = append(out, line)
		}
	}
	return about, connections, out
}

func rateAt(points []record.CeilingPoint, batch, connections int) *float64 {
	for _, p := range points {
		if p.Batch == batch && p.Connections == connections && len(p.NodesPerS) > 0 {
			rate := median(p.NodesPerS)
			return &rate
		}
	}
	return nil
}

func writePoints(b *bytes.Buffer, c *record.Ceilings) {
	t := columns{left: map[int]bool{0: true}}
	about, connections, lines := pointLines(c)
	t.add(append(about, connections...)...)
	for _, line := range lines {
		cells := line.about
		for _, rate := range line.rates {
			cells = append(cells, page.Figure(rate, units.Number, "").Text)
		}
		t.add(cells...)
	}
	b.WriteByte('\n')
	t.write(b)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// WriteCeilings writes a report on ceilings as tables for a terminal, with methods. Its Ceilings are not nil.
func WriteCeilings(w io.Writer, r *record.CeilingReport) error {
	var b bytes.Buffer
	v := newView(&record.Summary{Ceilings: r.Ceilings}, &record.Manifest{
		Command: r.Command, Tool: r.Tool, Host: r.Host, Postgres: r.Postgres, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Methods: r.Methods,
	})
	fmt.Fprintf(&b, "What raw SQL does on this server for the writes of a completion\n%s · %s a point\n\n",
		units.Printable(strings.Join(v.facts(), " · ")), measurements(r.Ceilings))
	writeRates(&b, r.Ceilings)
	if len(r.Ceilings.Rates) > 0 {
		writePoints(&b, r.Ceilings)
	}
	writeIdle(&b, r.Ceilings)
	if len(r.Ceilings.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
		for _, text := range r.Ceilings.Warnings {
			fmt.Fprintf(&b, "  - %s\n", units.Printable(text))
		}
	}
	if len(r.Methods) > 0 {
		fmt.Fprintf(&b, "\nMethod, over %s\n", r.EndedAt.Sub(r.StartedAt).Round(100*time.Millisecond))
		for _, m := range r.Methods {
			fmt.Fprintf(&b, "  %s: %s\n", units.Printable(m.Figure), units.Printable(m.Text))
		}
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
