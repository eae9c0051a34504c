package reports

import (
	"fmt"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/units"
)

func (v *view) claimCharts() []*chart.Plot {
	type group struct {
		claimed chart.Series
		curves  []chart.Series
		unit    string
	}
	var groups []*group
	for _, name := range v.claimSeries() {
		claimed, measured, unit := v.claimCurve(name)
		if len(claimed.Points) < 2 || len(measured.Points) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(g *group) bool {
			return g.unit == unit && slices.Equal(g.claimed.Points, claimed.Points)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, &group{claimed: claimed, unit: unit})
		}
		measured.Style = len(groups[i].curves) + 1 // the first style is the baseline's, which has no curve here
		groups[i].curves = append(groups[i].curves, measured)
	}
	var out []*chart.Plot
	for i, g := range groups {
		label := g.unit
		if g.unit == "×" {
			label = "ratio"
		}
		p := &chart.Plot{
			Name: fmt.Sprintf("claims-%d", i+1), Title: shareTitle(g.curves),
			Says: "The grey curve is what was published; it was derived, not measured.",
			X:    chart.Axis{Label: "size", Scale: chart.Log}, Y: chart.Axis{Label: label, Scale: chart.Log},
			Series: append([]chart.Series{g.claimed}, g.curves...),
		}
		if !p.Empty() {
			out = append(out, p)
		}
	}
	return out
}

// shareTitle moves the curves' common prefix before a colon to the title of their chart.
func shareTitle(curves []chart.Series) string {
	const title = "Claimed and measured"
	shared, _, ok := cutLast(curves[0].Name)
	for _, c := range curves {
		before, _, _ := cutLast(c.Name)
		ok = ok && before == shared
	}
	if !ok {
		return title
	}
	for i := range curves {
		_, curves[i].Name, _ = cutLast(curves[i].Name)
	}
	return title + ": " + units.Clip(shared, mentionMax)
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

func (v *view) claimCurve(name string) (claimed, measured chart.Series, unit string) {
	claimed = chart.Series{Name: "claimed", Kind: chart.Lines, Neutral: true, Style: 1}
	measured = chart.Series{Name: name, Kind: chart.Lines}
	for _, c := range v.summary.Claims {
		if c.Series != name {
			continue
		}
		unit = c.Unit
		x := float64(c.Size)
		claimed.Points = append(claimed.Points, chart.Point{X: x, Y: c.Claimed})
		if c.Measured != nil {
			p := chart.Point{X: x, Y: *c.Measured}
			if c.Lo != nil && c.Hi != nil {
				p.Lo, p.Hi = *c.Lo, *c.Hi
			}
			measured.Points = append(measured.Points, p)
		}
	}
	return claimed, measured, unit
}
