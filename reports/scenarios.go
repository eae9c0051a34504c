package reports

import (
	"fmt"
	"slices"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
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

// Workflow is the drawing of a case's graph; nil if the record does not have it.
func Workflow(c *record.Case) *chart.Workflow {
	if c.Graph == nil || len(c.Graph.Nodes) == 0 {
		return nil
	}
	stands, waits := 0, 0
	for _, n := range c.Graph.Nodes {
		stands += n.Nodes
		if n.Waits {
			waits++
		}
	}
	says := fmt.Sprintf("%s of the compiled workflow, in %s; %d with a double rim wait for several. ×n is how often one runs, or how many are alike; "+
		"a dashed line leads to the next round, a red one is taken after an error.", units.Plural(stands, "node"), boxes(len(c.Graph.Nodes)), waits)
	return &chart.Workflow{
		Name: chart.FileName(fmt.Sprintf("workflow-%s-%d", c.Scenario, c.Size)), Title: (&family{scenario: c.Scenario}).label(c.Size), Says: says, Graph: c.Graph,
	}
}

func workflowDrawing(c *record.Case, name string) *page.Drawing {
	w := Workflow(c)
	if w == nil {
		return nil
	}
	return &page.Drawing{Inline: w.Inline(), Says: name + ". " + w.Says}
}

func boxes(n int) string {
	if n == 1 {
		return "1 box"
	}
	return fmt.Sprintf("%d boxes", n)
}
