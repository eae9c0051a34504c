package reports

import (
	"fmt"

	"pulley/reports/record"
)

// Charts returns all charts that a report on these records has, in its order. The manifest may be nil; then there are no
// spreads for what only single runs know.
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
		for n := 2; taken[c.Name]; n++ { // Two scenarios may differ only in what a file name cannot hold.
			c.Name = fmt.Sprintf("%s-%d", name, n)
		}
		taken[c.Name] = true
	}
	return out
}
