package reports

import (
	"fmt"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

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
