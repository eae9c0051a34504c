package reports

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"

	"pulley/reports/record"
)

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/*.html.tmpl"))

type page struct {
	Title, Verdict, State         string
	Good                          bool
	Facts                         []string
	LightVariables, DarkVariables template.CSS
	Style                         template.CSS
	Script                        template.JS
	Baseline                      string
	Glance                        *table
	Costs                         []costFigures
	Latency, ClaimFigures         []figure
	Claims                        *table
	Rows, Samples                 *table
	Fractions, Ceilings, Idle     *table
	Stages                        *table
	CeilingMeasurements           string
	SamplesLeftOut                bool
	SamplesTotal                  int
	Notes                         []string
	Warnings                      []warning
	Methods, Run, Settings        []entry
	Cases                         []caseText
	Tool                          string
}

type figure struct {
	SVG     template.HTML
	Caption string
}

type costFigures struct {
	Scenario string
	Figures  []figure
}

type entry struct{ Name, Text string }

// WriteHTML writes the report as one self-contained page. The manifest may be nil, which the page then says.
func WriteHTML(w io.Writer, s *record.Summary, m *record.Manifest) error {
	p, err := newView(s, m).page()
	return writePage(w, "report.html.tmpl", p, err)
}

// writePage writes nothing if err is set.
func writePage(w io.Writer, template string, page any, err error) error {
	var buf bytes.Buffer // a failing template must not leave half a page
	if err == nil {
		err = pageTemplate.ExecuteTemplate(&buf, template, page)
	}
	if err == nil {
		_, err = buf.WriteTo(w)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (v *view) page() (*page, error) {
	style, err := pageFiles.ReadFile("page/style.css")
	if err != nil {
		return nil, err
	}
	script, err := pageFiles.ReadFile("page/sort.js")
	if err != nil {
		return nil, err
	}
	p := &page{
		Title: "pulley compare", Verdict: v.verdict(), Facts: v.facts(), Baseline: v.baseline,
		LightVariables: template.CSS(cssVariables(false)), DarkVariables: template.CSS(cssVariables(true)),
		Style: template.CSS(style), Script: template.JS(script),
		Glance: v.glanceTable(), Claims: v.claimTable(), Rows: v.rowTable(),
		Notes: v.summary.Notes, Warnings: v.warnings(), Methods: v.methods(), Run: v.run(), Settings: v.settings(),
		Cases: v.cases(), Tool: v.tool(),
	}
	p.State, p.Good = v.state()
	if c := v.summary.Ceilings; c != nil {
		p.Fractions, p.Ceilings, p.Idle, p.CeilingMeasurements = v.fractionTable(), v.ceilingTable(), v.idleTable(), measurements(c)
	}
	p.Stages = v.stageTable()
	p.Samples, p.SamplesTotal = v.sampleTable(), len(v.manifest.Samples)
	p.SamplesLeftOut = p.SamplesTotal > len(p.Samples.Rows)
	for _, section := range v.costSections() {
		drawn, err := figures(section.Charts)
		if err != nil {
			return nil, err
		}
		p.Costs = append(p.Costs, costFigures{section.Scenario, drawn})
	}
	if p.Latency, err = figures(v.latencyCharts()); err != nil {
		return nil, err
	}
	p.ClaimFigures, err = figures(v.claimCharts())
	return p, err
}

// The drawing library escapes all texts.
func figures(charts []*Chart) ([]figure, error) {
	var out []figure
	for _, c := range charts {
		svg, err := c.inline()
		if err != nil {
			return nil, err
		}
		out = append(out, figure{template.HTML(svg), c.Caption})
	}
	return out, nil
}
