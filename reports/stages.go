package reports

import (
	"bytes"
	"fmt"
	"slices"

	"pulley/reports/record"
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
func (v *view) stageTable() *table {
	names := v.stageNames()
	if len(names) == 0 {
		return nil
	}
	t := &table{Label: "Processor time by stage", Heads: []head{{Name: "scenario", Text: true}, {Name: "nodes"}, {Name: "backend", Text: true}}}
	for _, n := range names {
		t.Heads = append(t.Heads, head{Name: n.Stage, Unit: "µs a node", Method: n.Text + ". " + v.method("stages")})
	}
	v.eachProfiled(func(f *family, r *record.Row) {
		cells := []cell{{Text: f.name()}, count(r.Nodes), words(r.Backend)}
		for _, n := range names {
			if s := stageOf(r, n.Stage); s != nil {
				cells = append(cells, figureCell(&s.Median, number, span(s.Lo, s.Hi, number)))
			} else {
				cells = append(cells, figureCell(nil, number, ""))
			}
		}
		t.Rows = append(t.Rows, tableRow{Cells: cells, Invalid: !r.Valid})
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
		fmt.Fprintf(b, "\n%s, %s nodes on %s\n", printable(f.name()), thousands(int64(r.Nodes)), printable(r.Backend))
		t := columns{left: map[int]bool{0: true, 3: true}}
		for _, n := range names {
			if s := stageOf(r, n.Stage); s != nil {
				t.add(n.Stage, number(s.Median), "["+number(s.Lo)+", "+number(s.Hi)+"]", n.Text)
			}
		}
		t.write(b)
	})
}
