package reports

import (
	"slices"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/units"
)

// scenarioSection has all that was found of each scenario: how its costs grow, and how long hops and instances take.
func (v *view) scenarioSection() page.Section {
	s := page.Section{
		ID: "scenarios", Title: "Scenario by scenario",
		Lead: "Costs against size have two logarithmic axes: a flat line is a cost per node that does not depend on the size, and a line that rises one " +
			"decade per decade is one that grows with it; the exponent is the slope (Theil and Sen's, over all runs). The axis of percentiles is " +
			"stretched towards the worst: each nine has the same room, and a curve ends where fewer than ten times lie above it.",
	}
	for _, name := range v.scenarioNames() {
		s.Blocks = append(s.Blocks, v.scenarioBlocks(name)...)
	}
	return s
}

func (v *view) scenarioNames() []string {
	var out []string
	for i := range v.families {
		if name := v.families[i].scenario; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// scenarioBlocks shows latencies, and costs under full load; the rest is folded.
func (v *view) scenarioBlocks(name string) []page.Block {
	var shown, folded []*chart.Plot
	for i := range v.families {
		f := &v.families[i]
		if f.scenario != name {
			continue
		}
		if f.mode == v.loadMode() {
			shown = append(shown, v.growthCharts(f)...)
		} else {
			folded = append(folded, v.growthCharts(f)...)
		}
	}
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if f.scenario != name || !ok {
			continue
		}
		for _, p := range []latencyPlots{v.hopPlots(f, size), v.instancePlots(f, size)} {
			shown, folded = append(shown, p.tail), append(folded, p.share)
		}
	}
	heading := units.Clip(name, mentionMax)
	var out []page.Block
	if drawn := slices.DeleteFunc(shown, (*chart.Plot).Empty); len(drawn) > 0 {
		out = append(out, page.Block{Heading: heading, Charts: drawn})
	}
	if drawn := slices.DeleteFunc(folded, (*chart.Plot).Empty); len(drawn) > 0 {
		out = append(out, page.Block{Fold: "More of " + heading + ": what share took no longer, and costs in the other mode", Charts: drawn})
	}
	return out
}

// growthCharts has the costs against the size; there is none of a single size.
func (v *view) growthCharts(f *family) []*chart.Plot {
	if f.sizes() < 2 {
		return nil
	}
	var out []*chart.Plot
	for _, c := range chartedCosts {
		if p := v.costChart(f, c); !p.Empty() {
			out = append(out, p)
		}
	}
	return out
}
