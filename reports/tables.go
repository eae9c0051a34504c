package reports

import (
	"fmt"
	"math"
	"strconv"

	"pulley/reports/record"
)

// The first cell of each row is its heading.
type table struct {
	Label string
	Heads []head
	Rows  []tableRow
}

// head is a column. Text: its cells are words.
type head struct {
	Name, Unit, Method string
	Text               bool
}

type tableRow struct {
	Cells   []cell
	Invalid bool
}

// Value is the sort key if it is not the text; an empty one sorts last.
type cell struct {
	Text, Small, Value, Class string
	HasValue                  bool
}

func words(text string) cell { return cell{Text: text, Class: "text"} }

func count(n int) cell {
	return cell{Text: thousands(int64(n)), Value: strconv.Itoa(n), HasValue: true}
}

func figureCell(v *float64, format func(float64) string, small string) cell {
	if v == nil {
		return cell{Text: missing, HasValue: true}
	}
	return cell{Text: format(*v), Small: small, Value: strconv.FormatFloat(*v, 'g', -1, 64), HasValue: true}
}

func nanos(h bool, ns int64) cell {
	if !h {
		return cell{Text: missing, HasValue: true}
	}
	return cell{Text: duration(float64(ns)), Value: strconv.FormatInt(ns, 10), HasValue: true}
}

// glanceTable is nil if nothing can be compared.
func (v *view) glanceTable() *table {
	t := &table{Label: "Multiples of " + v.baseline, Heads: []head{
		{Name: "scenario", Text: true}, {Name: "nodes"}, {Name: "backend", Text: true},
	}}
	for _, c := range costs {
		t.Heads = append(t.Heads, head{Name: c.short, Unit: "per node", Method: v.method(c.figure)})
	}
	for i := range v.families {
		f := &v.families[i]
		size, ok := v.comparable(f)
		if !ok {
			continue
		}
		for _, backend := range v.backends {
			r := f.find(backend, size)
			if r == nil || v.sentence(f, r) == "" {
				continue
			}
			cells := []cell{{Text: f.name()}, count(r.Nodes), words(backend)}
			for _, c := range costs {
				cells = append(cells, ratioCell(v.ratio(f, r, c)))
			}
			t.Rows = append(t.Rows, tableRow{Cells: cells})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func ratioCell(r *ratio) cell {
	if r == nil {
		return cell{Text: missing, HasValue: true}
	}
	small := ""
	if r.ok {
		small = "[" + span(r.lo, r.hi, number) + "]"
	}
	if r.undecided {
		return cell{Text: unclear, Small: small, HasValue: true}
	}
	return figureCell(&r.value, times, small)
}

var rowCosts = []cost{rowsRead, statements, commits, walBytes}

func (v *view) rowTable() *table {
	t := &table{Label: "All rows", Heads: []head{
		{Name: "scenario", Text: true}, {Name: "size"}, {Name: "nodes"}, {Name: "backend", Text: true}, {Name: "valid", Text: true},
		{Name: "runs"}, {Name: "nodes/s", Method: v.method("nodes_per_s")},
	}}
	if v.held() {
		t.Heads = append(t.Heads, head{Name: "of ceiling", Method: v.method("ceiling_fraction")})
	}
	for _, c := range rowCosts {
		t.Heads = append(t.Heads, head{Name: c.short, Unit: "per node", Method: v.method(c.figure)})
	}
	t.Heads = append(t.Heads, head{Name: "HOT", Unit: "of changes", Method: v.method("hot_share")},
		head{Name: "row waits", Unit: "of time", Method: v.method("lock_wait_share")})
	for _, p := range []string{"p50", "p99", "p99.9", "max"} {
		t.Heads = append(t.Heads, head{Name: p, Unit: "hop", Method: v.method("hop_ns")})
	}
	for _, p := range []string{"p50", "p99", "max"} {
		t.Heads = append(t.Heads, head{Name: p, Unit: "instance", Method: v.method("instance_ns")})
	}
	for i := range v.families {
		for _, r := range v.families[i].rows {
			t.Rows = append(t.Rows, tableRow{Cells: v.rowCells(r), Invalid: !r.Valid})
		}
	}
	return t
}

func (v *view) rowCells(r *record.Row) []cell {
	valid := words("yes")
	if !r.Valid {
		valid = cell{Text: "no", Class: "text bad"}
	}
	cells := []cell{{Text: r.Scenario}, count(r.Size), count(r.Nodes), words(r.Backend), valid, count(r.Runs)}
	if r.NodesPerS == nil {
		cells = append(cells, cell{Text: missing, HasValue: true})
	} else {
		cells = append(cells, figureCell(&r.NodesPerS.Median, number, span(r.NodesPerS.Lo, r.NodesPerS.Hi, number)))
	}
	if v.held() {
		cells = append(cells, figureCell(r.CeilingFraction, percent, r.Ceiling))
	}
	for _, c := range rowCosts {
		small := ""
		if around, ok := v.around(r, c); ok {
			small = span(around.lo, around.hi, c.text)
		}
		cells = append(cells, figureCell(c.row(r), c.text, small))
	}
	cells = append(cells, figureCell(r.HOTShare, percent, ""), figureCell(r.LockWaitShare, percent, ""))
	hop, instance := record.Percentiles{}, record.InstancePercentiles{}
	if r.HopNS != nil {
		hop = *r.HopNS
	}
	if r.InstanceNS != nil {
		instance = *r.InstanceNS
	}
	for _, ns := range []int64{hop.P50, hop.P99, hop.P999, hop.Max} {
		cells = append(cells, nanos(r.HopNS != nil, ns))
	}
	for _, ns := range []int64{instance.P50, instance.P99, instance.Max} {
		cells = append(cells, nanos(r.InstanceNS != nil, ns))
	}
	return cells
}

func (v *view) claimTable() *table {
	if len(v.summary.Claims) == 0 {
		return nil
	}
	t := &table{Label: "Claims", Heads: []head{
		{Name: "claim", Text: true}, {Name: "claimed"}, {Name: "measured"}, {Name: "measured / claimed"}, {Name: "how", Text: true},
	}}
	for _, c := range v.summary.Claims {
		format := claimFormat(c.Unit)
		small := ""
		if c.Lo != nil && c.Hi != nil {
			small = "[" + span(*c.Lo, *c.Hi, number) + "]"
		}
		share := cell{Text: missing, HasValue: true}
		if c.Measured != nil && c.Claimed != 0 {
			part := *c.Measured / c.Claimed
			share = figureCell(&part, number, "")
		}
		t.Rows = append(t.Rows, tableRow{Cells: []cell{
			{Text: c.Name}, figureCell(&c.Claimed, func(float64) string { return claimedText(c) }, ""), figureCell(c.Measured, format, small), share,
			{Text: c.Method, Class: "text wrap"},
		}})
	}
	return t
}

// claimedText keeps the published digits.
func claimedText(c record.Claim) string {
	text := strconv.FormatFloat(c.Claimed, 'f', -1, 64)
	if c.Claimed == math.Trunc(c.Claimed) && math.Abs(c.Claimed) < 1e15 {
		text = thousands(int64(c.Claimed))
	}
	if c.Unit == "×" || c.Unit == "" {
		return text + c.Unit
	}
	return text + " " + c.Unit
}

func claimFormat(unit string) func(float64) string {
	switch unit {
	case "×":
		return times
	case "":
		return number
	}
	return func(v float64) string { return number(v) + " " + unit }
}

// maxSampleRows bounds the table of single runs, so that the page of a long campaign still opens.
const maxSampleRows = 1500

func (v *view) sampleTable() *table {
	t := &table{Label: "Every run", Heads: []head{
		{Name: "order"}, {Name: "scenario", Text: true}, {Name: "size"}, {Name: "backend", Text: true}, {Name: "run"},
		{Name: "valid", Text: true}, {Name: "elapsed"}, {Name: "nodes/s"},
	}}
	for _, c := range rowCosts {
		t.Heads = append(t.Heads, head{Name: c.short, Unit: "per node"})
	}
	samples := v.manifest.Samples
	for i := range samples[:min(len(samples), maxSampleRows)] {
		s := &samples[i]
		valid := words("yes")
		if !s.Valid {
			valid = cell{Text: "no", Class: "text bad"}
		}
		cells := []cell{{Text: strconv.Itoa(s.Order)}, words(s.Scenario), count(s.Size), words(s.Backend), count(s.Run), valid,
			nanos(true, s.ElapsedNS), figureCell(&s.NodesPerS, number, "")}
		for _, c := range rowCosts {
			cells = append(cells, figureCell(c.sample(s), c.text, ""))
		}
		t.Rows = append(t.Rows, tableRow{Cells: cells, Invalid: !s.Valid})
	}
	return t
}

type caseText struct{ Name, Source, Program, Input string }

// maxCaseBytes bounds a program or an input on the page; the manifest has it whole.
const maxCaseBytes = 4000

func (v *view) cases() []caseText {
	var out []caseText
	for _, c := range v.manifest.Cases {
		out = append(out, caseText{
			Name:   fmt.Sprintf("%s, size %s: %s", c.Scenario, thousands(int64(c.Size)), plural(c.Nodes, "node")),
			Source: c.Source, Program: clip(c.Program, maxCaseBytes), Input: clip(string(c.Input), maxCaseBytes),
		})
	}
	return out
}
