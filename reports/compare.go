package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Compare lays out the report on a comparison. The manifest may be nil, which the page then says; files are the record's own, to be
// carried by the page.
func Compare(s *record.Summary, m *record.Manifest, files ...page.File) *page.Page {
	v := newView(s, m)
	v.logs = readLogs(files)
	text, good := v.state()
	p := &page.Page{
		Kind: "compare", Answer: v.answer(), State: page.State{Text: text, Mark: page.Unclear}, Facts: v.facts(), Record: files,
		Tool: v.tool(), Repeat: strings.Join(v.manifest.Command, " "), First: v.firstScreen(),
	}
	if good {
		p.State.Mark = page.Good
	}
	add := func(s page.Section) {
		if len(s.Blocks) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	add(v.latencySection())
	add(v.costSection())
	add(v.scenarioSection())
	add(v.multiplesSection())
	add(v.ceilingSection())
	add(v.stageSection())
	add(v.claimSection())
	add(v.rowSection())
	add(v.methodSection())
	return p
}

// WriteHTML writes the report on a comparison as one self-contained page. The manifest may be nil, which the page then says.
func WriteHTML(w io.Writer, s *record.Summary, m *record.Manifest, files ...page.File) error {
	return Compare(s, m, files...).WriteHTML(w)
}

// Charts returns a comparison's charts in order. The manifest may be nil; then figures of single runs have no spread.
func Charts(s *record.Summary, m *record.Manifest) []*chart.Plot { return Compare(s, m).Charts() }

// firstScreen is the picture of throughput and latency, and the multiples of the best.
func (v *view) firstScreen() []page.Block {
	var out []page.Block
	var pair []*chart.Plot
	for _, c := range []*chart.Plot{v.throughputChart(), v.aloneChart()} {
		if c != nil {
			pair = append(pair, c)
		}
	}
	if len(pair) > 0 {
		out = append(out, page.Block{Charts: pair, Unequal: len(pair) == 2})
	}
	if h := v.heat(); h != nil {
		out = append(out, page.Block{Heat: h})
	}
	if c := v.crossings(); len(c) > 0 {
		out = append(out, page.Block{Heading: "Where the order reverses with size", List: c})
	}
	return out
}

func (v *view) multiplesSection() page.Section {
	s := page.Section{
		ID: "multiples", Title: "Multiples of " + units.Clip(v.baseline, mentionMax),
		Lead: fmt.Sprintf("Each scenario at the largest size that can be compared. Above 1× is more than %s. A ratio is of medians; in brackets "+
			"stands its interval, or the range over neighbouring runs. %s: the runs show no difference; before a multiple: the interval does, and there are too few runs to call it one.", units.Clip(v.baseline, mentionMax), unclear),
	}
	if t := v.glanceTable(); t != nil {
		s.Blocks = []page.Block{{Table: t}}
	}
	return s
}

func (v *view) ceilingSection() page.Section {
	c := v.summary.Ceilings
	if c == nil {
		return page.Section{}
	}
	s := page.Section{
		ID: "ceilings", Title: "How far from what raw SQL can do",
		Lead: fmt.Sprintf("A client without an engine wrote the rows of completions into the designs' own tables on the same server, before the first "+
			"run and after the last (%s a point), in several ways. The best rate of the way that a backend could write in is its ceiling. "+
			"Beneath each rate stands its range.", measurements(c)),
	}
	for _, part := range []struct {
		title string
		table *page.Table
	}{
		{"Each backend and its ceiling, at the largest size", v.fractionTable()}, {"The ceilings", v.ceilingTable()},
		{"What latency is held against", v.idleTable()},
	} {
		if part.table != nil {
			s.Blocks = append(s.Blocks, page.Block{Heading: part.title, Table: part.table})
		}
	}
	return s
}

func (v *view) stageSection() page.Section {
	s := page.Section{
		ID: "stages", Title: "What processor time goes into",
		Lead: "Microseconds of processor time for each node run, by stage: the median over runs, and beneath it the interval. The figures are " +
			"shares of what the kernel counted, by the samples of Go's profiler.",
	}
	if t := v.stageTable(); t != nil {
		s.Blocks = append(s.Blocks, page.Block{Charts: v.stageCharts()}, page.Block{Table: t})
	}
	return s
}

func (v *view) claimSection() page.Section {
	s := page.Section{
		ID: "claims", Title: "Published claims beside what was measured",
		Lead: "The claims are of the designs' own authors, who derived them from complexity. What stands next to them was measured here; how is said in each line.",
	}
	if t := v.claimTable(); t != nil {
		if charts := v.claimCharts(); len(charts) > 0 {
			s.Blocks = append(s.Blocks, page.Block{Charts: charts})
		}
		s.Blocks = append(s.Blocks, page.Block{Table: t})
	}
	return s
}

func (v *view) rowSection() page.Section {
	s := page.Section{
		ID: "rows", Title: "All rows", Folded: true,
		Lead: "Figures are medians over runs. The small figures beneath are the interval or range over the runs. The head of a column sorts by it. " +
			"A dash is a figure that was not measured; the warnings say why.",
	}
	if t := v.rowTable(); len(t.Rows) > 0 {
		s.Blocks = []page.Block{{Table: t}}
	}
	return s
}

func (v *view) methodSection() page.Section {
	s := page.Section{ID: "method", Title: "How it was measured"}
	for _, note := range v.summary.Notes {
		s.Blocks = append(s.Blocks, page.Block{Text: note})
	}
	add := func(b page.Block) { s.Blocks = append(s.Blocks, b) }
	if list := v.warnings(); len(list) > 0 {
		b := page.Block{Heading: "Warnings"}
		for _, w := range list {
			b.List = append(b.List, page.Item{Text: w.Text, Where: w.Where()})
		}
		add(b)
	}
	add(page.Block{Heading: "Methods", Entries: v.methods()})
	add(page.Block{Heading: "Run", Entries: v.run()})
	for _, b := range systemBlocks(v.manifest.Systems) {
		add(b)
	}
	if settings := v.settings(); len(settings) > 0 {
		add(page.Block{Fold: "Settings of the server", Entries: settings})
	}
	for _, b := range v.caseBlocks() {
		add(b)
	}
	if t := v.sampleTable(); len(t.Rows) > 0 {
		fold := fmt.Sprintf("Every run in its order (%d)", len(t.Rows))
		if total := len(v.manifest.Samples); total > len(t.Rows) {
			fold = fmt.Sprintf("The first %d of %d runs in their order; the others are in samples.ndjson", len(t.Rows), total)
		}
		add(page.Block{Fold: fold, Table: t})
	}
	return s
}

// maxCaseBytes bounds a program or an input on the page; the manifest has it whole.
const maxCaseBytes = 4000

func (v *view) caseBlocks() []page.Block {
	var out []page.Block
	for _, c := range v.manifest.Cases {
		var parts []string
		for _, text := range []string{c.Source, units.Clip(c.Program, maxCaseBytes)} {
			if text != "" {
				parts = append(parts, text)
			}
		}
		if len(c.Input) > 0 {
			parts = append(parts, "Input: "+units.Clip(string(c.Input), maxCaseBytes))
		}
		name := fmt.Sprintf("Workload %s, size %s: %s", units.Clip(c.Scenario, mentionMax), units.Thousands(int64(c.Size)), units.Plural(c.Nodes, "node"))
		if d := workflowDrawing(&c, name); d != nil {
			out = append(out, page.Block{Fold: name + ", as a graph", Drawing: d})
		}
		if len(parts) > 0 {
			out = append(out, page.Block{Fold: name, Code: strings.Join(parts, "\n\n")})
		}
	}
	return out
}

// style is a backend's, the same all over the report.
func (v *view) style(backend string) int { return max(slices.Index(v.backends, backend), 0) }
