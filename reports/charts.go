package reports

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"pulley/reports/record"
)

// Charts returns a report's charts in order. The manifest may be nil; then figures of single runs have no spread.
func Charts(s *record.Summary, m *record.Manifest) []*Chart {
	v := newView(s, m)
	var out []*Chart
	for _, f := range v.costSections() {
		out = append(out, f.Charts...)
	}
	out = append(out, v.latencyCharts()...)
	out = append(out, v.claimCharts()...)
	taken := make(map[string]bool)
	for _, c := range out {
		name := c.Name
		for n := 2; taken[c.Name]; n++ { // names may differ only in characters that a file name cannot hold
			c.Name = fmt.Sprintf("%s-%d", name, n)
		}
		taken[c.Name] = true
	}
	return out
}

func escape(text string) string { return html.EscapeString(text) }

var chartedCosts = []cost{rowsRead, timeCost, walBytes}

type costSection struct {
	Scenario string
	Charts   []*Chart
}

// Scenarios need two sizes for costSections.
func (v *view) costSections() []costSection {
	var out []costSection
	for i := range v.families {
		f := &v.families[i]
		if f.sizes() < 2 {
			continue
		}
		section := costSection{Scenario: f.name()}
		for _, c := range chartedCosts {
			if chart := v.costChart(f, c); chart != nil {
				section.Charts = append(section.Charts, chart)
			}
		}
		if len(section.Charts) > 0 {
			out = append(out, section)
		}
	}
	return out
}

func (v *view) costChart(f *family, c cost) *Chart {
	var all []series
	for i, backend := range v.backends {
		s := series{name: backend, style: styleOf(i)}
		for _, r := range f.rows {
			y := c.row(r)
			if r.Backend != backend || !r.Valid || y == nil {
				continue
			}
			p := point{x: float64(r.Nodes), y: *y, lo: *y, hi: *y}
			if around, ok := v.around(r, c); ok {
				p.lo, p.hi = min(around.lo, *y), max(around.hi, *y)
			}
			s.points = append(s.points, p)
		}
		slices.SortStableFunc(s.points, func(a, b point) int { return int(a.x - b.x) })
		all = append(all, s)
	}
	chart := Chart{
		Name: fileName(f.name()) + "-" + c.figure, Title: clip(f.name(), 30) + ": " + c.long,
		Caption: v.costCaption(all, c),
	}
	return lines(chart, axisText{"nodes in the workflow", tickNumber}, axisText{c.long, c.tick()}, all)
}

func (c cost) tick() func(float64) string {
	switch c.figure {
	case timeCost.figure:
		return tickUnit(timeUnits)
	case walBytes.figure:
		return tickUnit(byteUnits)
	}
	return tickNumber
}

// costCaption states each backend's change of cost from the smallest workflow to the largest.
func (v *view) costCaption(all []series, c cost) string {
	var parts []string
	for _, s := range all {
		points := positive(s.points)
		if len(points) < 2 {
			continue
		}
		first, last := points[0], points[len(points)-1]
		parts = append(parts, fmt.Sprintf("%s: %s → %s (%s)", s.name, c.text(first.y), c.text(last.y), times(last.y/first.y)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "From the smallest workflow to the largest:\n" + strings.Join(parts, "\n")
}

func (v *view) latencyCharts() []*Chart {
	hop := v.latencyBars(func(r *record.Row) []float64 {
		if r.HopNS == nil {
			return nil
		}
		return []float64{float64(r.HopNS.P50), float64(r.HopNS.P99), float64(r.HopNS.P999), float64(r.HopNS.Max)}
	})
	instance := v.latencyBars(func(r *record.Row) []float64 {
		if r.InstanceNS == nil {
			return nil
		}
		return []float64{float64(r.InstanceNS.P50), float64(r.InstanceNS.P99), float64(r.InstanceNS.Max)}
	})
	var out []*Chart
	if c := ranges(Chart{
		Name: "latency-hop", Title: "Hop latency: from completion to next start",
		Caption: "From a completion to the start of what came after it: commit, dispatch, and the wait for a free worker. Every scenario at its largest size.",
	}, axisText{"time", tickUnit(timeUnits)}, []string{"p50", "p99", "p99.9", "max"}, hop); c != nil {
		out = append(out, c)
	}
	if c := ranges(Chart{
		Name: "latency-instance", Title: "Instance latency: from submitted to ended",
		Caption: "How long a whole instance took. Every scenario at its largest size.",
	}, axisText{"time", tickUnit(timeUnits)}, []string{"p50", "p99", "max"}, instance); c != nil {
		out = append(out, c)
	}
	return out
}

func (v *view) latencyBars(marks func(*record.Row) []float64) []bar {
	var out []bar
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if !ok {
			continue
		}
		var bars []bar
		nodes := 0
		for j, backend := range v.backends {
			if r := f.find(backend, size); r != nil && marks(r) != nil {
				bars = append(bars, bar{name: backend, color: styleOf(j).color, marks: marks(r)})
				nodes = r.Nodes
			}
		}
		if len(bars) > 0 {
			heading := fmt.Sprintf("%s, %s", clip(f.name(), 18), plural(nodes, "node"))
			out = append(append(out, bar{name: heading}), bars...)
		}
	}
	return out
}

func (v *view) claimCharts() []*Chart {
	type group struct {
		claimed series
		curves  []series
		unit    string
	}
	var groups []*group
	for _, name := range v.claimSeries() {
		claimed, measured, unit := v.claimCurve(name)
		if len(claimed.points) < 2 || len(measured.points) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool {
			return g.unit == unit && slices.Equal(g.claimed.points, claimed.points)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{claimed: claimed, unit: unit})
		}
		measured.style = styleOf(len(groups[i].curves) + 1) // the first style is the baseline's, which has no curve here
		groups[i].curves = append(groups[i].curves, measured)
	}
	var out []*Chart
	for i, g := range groups {
		label := g.unit
		if g.unit == "×" {
			label = "ratio"
		}
		chart := lines(Chart{
			Name: fmt.Sprintf("claims-%d", i+1), Title: shareTitle(g.curves),
			Caption: "The dashed grey curve is what was published; it was derived, not measured.",
		}, axisText{"size", tickNumber}, axisText{label, tickNumber}, append([]series{g.claimed}, g.curves...))
		if chart != nil {
			out = append(out, chart)
		}
	}
	return out
}

// shareTitle moves the curves' common prefix before a colon to the title of their chart.
func shareTitle(curves []series) string {
	const title = "Claimed and measured"
	shared, _, ok := cutLast(curves[0].name)
	for _, c := range curves {
		before, _, _ := cutLast(c.name)
		ok = ok && before == shared
	}
	if !ok {
		return title
	}
	for i := range curves {
		_, curves[i].name, _ = cutLast(curves[i].name)
	}
	return title + ": " + shared
}

func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndex(text, ": ")
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+2:], true
}

func (v *view) claimSeries() []string {
	var names []string
	for _, c := range v.summary.Claims {
		if c.Series != "" && !slices.Contains(names, c.Series) {
			names = append(names, c.Series)
		}
	}
	return names
}

func (v *view) claimCurve(name string) (claimed, measured series, unit string) {
	claimed = series{name: "claimed", style: claimedStyle()}
	measured = series{name: name}
	for _, c := range v.summary.Claims {
		if c.Series != name {
			continue
		}
		unit = c.Unit
		x := float64(c.Size)
		claimed.points = append(claimed.points, point{x, c.Claimed, c.Claimed, c.Claimed})
		if c.Measured != nil {
			p := point{x, *c.Measured, *c.Measured, *c.Measured}
			if c.Lo != nil && c.Hi != nil {
				p.lo, p.hi = *c.Lo, *c.Hi
			}
			measured.points = append(measured.points, p)
		}
	}
	return claimed, measured, unit
}
