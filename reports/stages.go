package reports

import (
	"bytes"
	"fmt"
	"slices"

	"pulley/bench/stats"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// stageNames are the columns, with their descriptions: those of all rows, in the order of the first.
func (v *view) stageNames() (names []record.StageCost) {
	for i := range v.summary.Rows {
		for _, s := range v.summary.Rows[i].Stages {
			if !slices.ContainsFunc(names, func(have record.StageCost) bool { return have.Stage == s.Stage }) {
				names = append(names, s)
			}
		}
	}
	return names
}

func stageOf(r *record.Row, name string) *record.Spread {
	for i := range r.Stages {
		if r.Stages[i].Stage == name {
			return &r.Stages[i].USPerNode
		}
	}
	return nil
}

// stageTable is nil if no row is profiled.
func (v *view) stageTable() *page.Table {
	names := v.stageNames()
	if len(names) == 0 {
		return nil
	}
	t := &page.Table{Says: "Processor time by stage", Heads: []page.Head{{Name: "scenario", Words: true}, {Name: "nodes"}, {Name: "backend", Words: true}}}
	for _, n := range names {
		t.Heads = append(t.Heads, page.Head{Name: n.Stage, Unit: "µs a node", Method: n.Text + ". " + v.method("stages")})
	}
	v.eachProfiled(func(f *family, r *record.Row) {
		cells := []page.Cell{{Text: f.name()}, count(r.Nodes), page.Words(r.Backend)}
		for _, n := range names {
			if s := stageOf(r, n.Stage); s != nil {
				cells = append(cells, page.Figure(&s.Median, units.Number, units.Span(s.Lo, s.Hi, units.Number)))
			} else {
				cells = append(cells, page.Figure(nil, units.Number, ""))
			}
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells, Doubtful: !r.Valid})
	})
	return t
}

func (v *view) eachProfiled(do func(*family, *record.Row)) {
	for i := range v.families {
		for _, r := range v.families[i].rows {
			if r.Stages != nil {
				do(&v.families[i], r)
			}
		}
	}
}

func (v *view) writeStages(b *bytes.Buffer) {
	names := v.stageNames()
	if len(names) == 0 {
		return
	}
	b.WriteString("\nProcessor time by stage   (µs for each node run; median over runs, and the interval)\n")
	v.eachProfiled(func(f *family, r *record.Row) {
		fmt.Fprintf(b, "\n%s, %s nodes on %s\n", units.Printable(f.name()), units.Thousands(int64(r.Nodes)), units.Printable(r.Backend))
		t := columns{left: map[int]bool{0: true, 3: true}}
		for _, n := range names {
			if s := stageOf(r, n.Stage); s != nil {
				t.add(n.Stage, units.Number(s.Median), "["+units.Number(s.Lo)+", "+units.Number(s.Hi)+"]", n.Text)
			}
		}
		t.write(b)
	})
}

// stageCharts has a row for each profiled row at its scenario's largest size, and a bar for each stage, one after another. The
// totals at the end of a row's stages are in the table alone.
func (v *view) stageCharts() []*chart.Plot {
	p := &chart.Plot{
		Name: "stages", Title: "Processor time of a node run, by stage", X: chart.Axis{Label: "µs of processor time per node run", Scale: chart.Linear},
		Y: chart.Axis{Scale: chart.Rows}, Method: v.method("stages"),
	}
	names := v.stageNames()
	bars := make([]chart.Series, len(names))
	for i, n := range names {
		bars[i] = chart.Series{Name: n.Stage, Kind: chart.Spans, Style: i}
	}
	v.eachProfiled(func(f *family, r *record.Row) {
		if size, _ := f.largest(); !r.Valid || r.Size != size || len(p.Y.Names) == rowsMost {
			return
		}
		row, from := float64(len(p.Y.Names)), 0.0
		p.Y.Names = append(p.Y.Names, f.label(r.Size)+", "+short(r.Backend))
		for i, n := range names {
			s := stageOf(r, n.Stage)
			if s == nil || isTotal(n.Stage) {
				continue
			}
			bars[i].Points = append(bars[i].Points, chart.Point{X: from, To: from + s.Median, Y: row,
				Note: units.Number(s.Median) + " µs [" + units.Span(s.Lo, s.Hi, units.Number) + "]"})
			from += s.Median
		}
	})
	p.Series = bars
	if p.Empty() {
		return nil
	}
	return []*chart.Plot{p}
}

// isTotal tells the two sums at the end of a row's stages from the stages.
func isTotal(stage string) bool { return stage == stats.AllStages || stage == stats.ServerStage }
