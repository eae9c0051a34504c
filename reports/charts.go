package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/bench/stats"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// rowsMost bounds the rows of a picture that is read at a glance; the tables have the rest.
const rowsMost = 24

// throughputChart has a row for each scenario at its largest size, a marker for each backend, and ticks for what raw SQL did. It is
// nil without throughputs.
func (v *view) throughputChart() *chart.Plot {
	p := &chart.Plot{
		Name: "throughput", Title: "Under full load", X: chart.Axis{Label: "node runs per second", Scale: chart.Log},
		Y:    chart.Axis{Scale: chart.Rows},
		Hint: "Each scenario at its largest size. Further right is faster; a pale bar is the interval over the runs.",
	}
	if v.loadMode() != record.ModeSaturated {
		p.Title = "Throughput"
		if mode := v.loadMode(); mode != "" {
			p.Title += ", " + mode
		}
	}
	marks := make([]chart.Series, len(v.backends))
	for i, name := range v.backends {
		marks[i] = chart.Series{Name: name, Kind: chart.Dots, Style: i}
	}
	limits := map[string]*chart.Series{}
	var ways []string
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if f.mode != v.loadMode() || !ok || len(p.Y.Names) == rowsMost {
			continue
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, f.label(size))
		for j, name := range v.backends {
			r := f.find(name, size)
			if r == nil || r.NodesPerS == nil {
				continue
			}
			pt := chart.Point{X: r.NodesPerS.Median, Y: row + v.aside(j), Lo: r.NodesPerS.Lo, Hi: r.NodesPerS.Hi, Note: units.Plural(r.Runs, "run")}
			if r.CeilingFraction != nil {
				pt.Note += ", " + units.Percent(*r.CeilingFraction) + " of its ceiling"
			}
			marks[j].Points = append(marks[j].Points, pt)
			if rate := v.summary.Ceilings.RateFor(r.Ceiling, r.Nodes, r.InstanceWrites); rate != nil {
				if limits[r.Ceiling] == nil {
					ways = append(ways, r.Ceiling)
					limits[r.Ceiling] = &chart.Series{Name: "raw SQL: " + inWords(wayNames, r.Ceiling), Kind: chart.Ticks, Neutral: true, Style: len(ways) - 1}
				}
				l := limits[r.Ceiling]
				if n := len(l.Points); n == 0 || l.Points[n-1].Y != row {
					l.Points = append(l.Points, chart.Point{X: rate.NodesPerS.Median, Y: row, Lo: rate.NodesPerS.Lo, Hi: rate.NodesPerS.Hi})
				}
			}
		}
	}
	for _, way := range ways {
		p.Series = append(p.Series, *limits[way])
	}
	if len(ways) > 0 {
		p.Hint += " An upright line is what raw SQL did with the same rows."
	}
	p.Series = append(p.Series, marks...)
	if p.Says = v.throughputSays(); p.Empty() {
		return nil
	}
	return p
}

// aside is how far from the middle of its row a backend's marker stands, so that its interval is seen among the others'.
func (v *view) aside(i int) float64 {
	return 0.44 * (float64(i) - float64(len(v.backends)-1)/2) / float64(max(len(v.backends), 5))
}

// throughputSays names the fastest of each scenario.
func (v *view) throughputSays() string {
	var parts []string
	for _, b := range v.bests() {
		if len(parts) == 6 {
			parts = append(parts, "and so on")
			break
		}
		said := fmt.Sprintf("%s: %s with %s", b.family.label(b.size), short(b.name()), units.Number(b.ranked[0].NodesPerS.Median))
		if !b.decided {
			said += ", not shown to differ from " + short(b.ranked[1].Backend)
		}
		parts = append(parts, said)
	}
	if len(parts) == 0 {
		return ""
	}
	return "The fastest, in node runs per second: " + strings.Join(parts, "; ") + "."
}

// aloneChart shows the hop latency of one instance at a time, from the median to the 99th percentile, of the scenario with the
// most hops in a row. It is nil without such rows.
func (v *view) aloneChart() *chart.Plot {
	f := v.aloneFamily()
	if f == nil {
		return nil
	}
	size, _ := f.largest()
	p := &chart.Plot{
		Name: "alone", Title: fmt.Sprintf("Alone: %s, one at a time", f.label(size)), Labeled: true,
		X: chart.Axis{Label: "from completion to next start", Scale: chart.Log, Unit: units.Nanoseconds}, Y: chart.Axis{Scale: chart.Rows},
		Hint: "Median · 99th percentile of a hop. Further left is faster.",
	}
	var parts []string
	for i, name := range v.backends {
		r := f.find(name, size)
		if r == nil || r.HopNS == nil {
			continue
		}
		row := float64(len(p.Y.Names))
		p.Y.Names = append(p.Y.Names, name)
		note := units.MiddleAndTail(units.Duration(float64(r.HopNS.P50)), units.Duration(float64(r.HopNS.P99)))
		p.Series = append(p.Series, chart.Series{Kind: chart.Dots, Style: i, Points: []chart.Point{
			{X: float64(r.HopNS.P50), Y: row, Lo: float64(r.HopNS.P50), Hi: float64(r.HopNS.P99), Note: note},
		}})
		parts = append(parts, short(name)+" "+note)
	}
	if p.Empty() {
		return nil
	}
	p.Says = "Hop latency: " + strings.Join(parts, "; ") + "."
	return p
}

// aloneFamily prefers a chain, whose hops are nothing but hops; then the one with the most nodes.
func (v *view) aloneFamily() *family {
	var found *family
	nodes := -1
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if f.mode != record.ModeAlone || !ok {
			continue
		}
		n := 0
		for _, r := range f.rows {
			if r.Valid && r.Size == size && r.HopNS != nil {
				n = r.Nodes
			}
		}
		if strings.HasPrefix(f.scenario, "chain") {
			n += 1 << 40
		}
		if n > nodes {
			found, nodes = f, n
		}
	}
	return found
}

// heat is how many times as long as the best each backend took, by scenario and size. It is nil if nothing stands beside another.
func (v *view) heat() *page.Heat {
	h := &page.Heat{Says: "How many times as long as the fastest. ~ stands where the intervals over the runs do not tell a backend from the fastest."}
	var rows []best
	used := map[string]bool{}
	for i := range v.families {
		f := &v.families[i]
		for _, size := range f.sizeList() {
			b, ok := v.bestOf(f, size)
			if f.mode != v.loadMode() || !ok {
				continue
			}
			rows = append(rows, b)
			for _, r := range b.ranked {
				used[r.Backend] = true
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if len(rows) > heatRowsMost { // multiples have the other sizes
		rows = v.bests()
	}
	columns := slices.DeleteFunc(slices.Clone(v.backends), func(name string) bool { return !used[name] })
	for _, name := range columns {
		h.Columns = append(h.Columns, units.Clip(name, mentionMax))
	}
	for _, b := range rows[:min(len(rows), 2*rowsMost)] {
		row := page.HeatRow{Name: b.family.label(b.size)}
		for _, name := range columns {
			row.Cells = append(row.Cells, v.heatCell(&b, name))
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}

// heatRowsMost bounds the rows of a heat table with several sizes of a scenario, so that what comes after it is on the second screen.
const heatRowsMost = 12

// darkest is the multiple with the darkest shade.
const darkest = 12

func (v *view) heatCell(b *best, backend string) page.HeatCell {
	i := slices.IndexFunc(b.ranked, func(r *record.Row) bool { return r.Backend == backend })
	if i < 0 {
		return page.HeatCell{Text: units.Missing, Note: "not measured, or not valid"}
	}
	first, r := b.ranked[0].NodesPerS, b.ranked[i]
	c := page.HeatCell{Note: fmt.Sprintf("%s nodes/s [%s]", units.Number(r.NodesPerS.Median), units.Span(r.NodesPerS.Lo, r.NodesPerS.Hi, units.Number))}
	multiple := first.Median / r.NodesPerS.Median
	c.Shade = math.Log(multiple) / math.Log(darkest)
	switch {
	case i == 0 && b.decided:
		c.Text, c.Best = "best", true
	case i == 0, !v.faster(b.ranked[0], r):
		c.Text, c.Shade = unclear+" "+units.Times(multiple), 0
		if i == 0 {
			c.Text = unclear
		}
	default:
		c.Text = units.Times(multiple)
	}
	return c
}

// crossings says where the fastest changes with the size of a scenario.
func (v *view) crossings() []page.Item {
	var out []page.Item
	for i := range v.families {
		f := &v.families[i]
		if f.mode != v.loadMode() {
			continue
		}
		for _, c := range v.crossingsOf(f) {
			out = append(out, page.Item{Text: fmt.Sprintf("%s: %s is faster up to %s, %s from %s on.", short(f.scenario), short(c.before),
				units.Thousands(int64(c.from)), short(c.after), units.Thousands(int64(c.to)))})
		}
	}
	return out
}

// crossing is a change of the fastest between two sizes that were measured.
type crossing struct {
	before, after string
	from, to      int
	// nodes of an instance at which their costs are equal, between the two
	nodes float64
}

func (v *view) crossingsOf(f *family) []crossing {
	var out []crossing
	var last *best
	for _, size := range f.sizeList() {
		b, ok := v.bestOf(f, size)
		if !ok || !b.decided {
			continue
		}
		if last != nil && last.name() != b.name() {
			out = append(out, crossing{last.name(), b.name(), last.size, b.size, v.meeting(f, last, &b)})
		}
		last = &b
	}
	return out
}

// meeting interpolates on logarithmic scales.
func (v *view) meeting(f *family, a, b *best) float64 {
	gap := func(size int) (float64, float64) {
		x, y := f.find(a.name(), size), f.find(b.name(), size)
		if x == nil || y == nil || x.NodesPerS == nil || y.NodesPerS == nil {
			return math.NaN(), 0
		}
		return math.Log(x.NodesPerS.Median / y.NodesPerS.Median), math.Log(float64(x.Nodes))
	}
	d0, n0 := gap(a.size)
	d1, n1 := gap(b.size)
	if math.IsNaN(d0) || math.IsNaN(d1) || d0 == d1 {
		return 0
	}
	return math.Exp(n0 + (n1-n0)*d0/(d0-d1))
}

var chartedCosts = []cost{timeCost, rowsRead, walBytes}

func (v *view) costChart(f *family, c cost) *chart.Plot {
	p := &chart.Plot{
		Name: chart.FileName(f.name()) + "-" + c.figure, Title: units.Clip(f.name(), 40) + ": " + c.long,
		X:      chart.Axis{Label: "nodes in the workflow", Scale: chart.Log},
		Y:      chart.Axis{Label: c.long, Scale: chart.Log, Unit: c.unit},
		Method: v.method(c.figure),
	}
	var said []string
	for i, backend := range v.backends {
		s := chart.Series{Name: backend, Kind: chart.Lines, Style: i}
		for _, r := range f.rows {
			y := c.row(r)
			if r.Backend != backend || !r.Valid || y == nil {
				continue
			}
			pt := chart.Point{X: float64(r.Nodes), Y: *y, Note: units.Plural(r.Runs, "run")}
			if around, ok := v.around(r, c); ok {
				pt.Lo, pt.Hi = around.lo, around.hi
			}
			s.Points = append(s.Points, pt)
		}
		if len(s.Points) == 0 {
			continue
		}
		slices.SortStableFunc(s.Points, func(a, b chart.Point) int { return int(a.X - b.X) })
		p.Series = append(p.Series, s)
		if text := v.growthText(f, backend, c); text != "" {
			said = append(said, text)
		}
	}
	if len(said) > 0 {
		p.Says = strings.Join(said, "; ") + "."
	}
	if c.figure == timeCost.figure {
		for _, x := range v.crossingsOf(f) {
			if x.nodes > 0 {
				p.Rules = append(p.Rules, chart.Rule{At: x.nodes, Upright: true, Name: "the order reverses"})
			}
		}
	}
	return p
}

// growthText is a backend's exponent with its standard error, over all runs if they are known, else over the rows.
func (v *view) growthText(f *family, backend string, c cost) string {
	var x, y []float64
	add := func(nodes int, figure *float64) {
		if figure != nil && *figure > 0 && nodes > 0 {
			x, y = append(x, float64(nodes)), append(y, *figure)
		}
	}
	for _, r := range f.rows {
		if r.Backend != backend || !r.Valid {
			continue
		}
		runs := v.samples[r.Key()]
		for _, s := range runs {
			add(s.Nodes, c.sample(s))
		}
		if len(runs) == 0 {
			add(r.Nodes, c.row(r))
		}
	}
	slope, err := stats.LogLogSlope(x, y)
	if err != nil {
		return ""
	}
	text := fmt.Sprintf("%s grows with exponent %s", short(backend), exponent(slope.TheilSen))
	if !math.IsNaN(slope.StdErr) {
		text += " ± " + exponent(slope.StdErr)
	}
	return text
}

func exponent(v float64) string {
	if math.Abs(v) < 0.005 {
		v = 0
	}
	return fmt.Sprintf("%.2f", v)
}

// costSection has what a node costs at the largest size: bars by backend, and a table with intervals.
func (v *view) costSection() page.Section {
	s := page.Section{
		ID: "cost", Title: "What a node costs",
		Lead: "Per node run, at each scenario's largest size, by the server's own counters. Less is better.",
	}
	var charts []*chart.Plot
	for _, c := range []cost{walBytes, rowsRead, commits} {
		if p := v.costBars(c); p != nil {
			charts = append(charts, p)
		}
	}
	if len(charts) > 0 {
		s.Blocks = []page.Block{{Charts: charts}}
	}
	return s
}

func (v *view) costBars(c cost) *chart.Plot {
	p := &chart.Plot{
		Name: "cost-" + c.figure, Title: upperFirst(c.long), Hint: "Further left is less.", X: chart.Axis{Label: c.long, Scale: chart.Log, Unit: c.unit}, Y: chart.Axis{Scale: chart.Rows},
		Method: v.method(c.figure),
	}
	marks := make([]chart.Series, len(v.backends))
	least := map[string]*record.Row{}
	for i, name := range v.backends {
		marks[i] = chart.Series{Name: name, Kind: chart.Dots, Style: i}
	}
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if f.mode != v.loadMode() || !ok || len(p.Y.Names) == rowsMost {
			continue
		}
		row, label := float64(len(p.Y.Names)), f.label(size)
		p.Y.Names = append(p.Y.Names, label)
		for j, name := range v.backends {
			r := f.find(name, size)
			if r == nil || c.row(r) == nil {
				continue
			}
			pt := chart.Point{X: *c.row(r), Y: row + v.aside(j), Note: units.Plural(r.Runs, "run")}
			if around, ok := v.around(r, c); ok {
				pt.Lo, pt.Hi = around.lo, around.hi
			}
			marks[j].Points = append(marks[j].Points, pt)
			if least[label] == nil || *c.row(r) < *c.row(least[label]) {
				least[label] = r
			}
		}
	}
	p.Series = marks
	if p.Empty() {
		return nil
	}
	var said []string
	for _, label := range p.Y.Names {
		if r := least[label]; r != nil && len(said) < 6 {
			said = append(said, fmt.Sprintf("%s: %s with %s", label, short(r.Backend), c.unit.Format(*c.row(r))))
		}
	}
	p.Says = "The least: " + strings.Join(said, "; ") + "."
	return p
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
