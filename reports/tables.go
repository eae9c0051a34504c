package reports

import (
	"math"
	"strconv"

	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

func count(n int) page.Cell {
	v := float64(n)
	return page.Cell{Text: units.Thousands(int64(n)), Value: &v, HasValue: true}
}

func nanos(known bool, ns int64) page.Cell {
	if !known {
		return page.Cell{Text: units.Missing, HasValue: true}
	}
	v := float64(ns)
	return page.Figure(&v, units.Duration, "")
}

// glanceTable is nil if nothing can be compared.
func (v *view) glanceTable() *page.Table {
	t := &page.Table{Says: "Multiples of " + v.baseline, Heads: []page.Head{
		{Name: "scenario", Words: true}, {Name: "nodes"}, {Name: "backend", Words: true},
	}}
	for _, c := range costs {
		t.Heads = append(t.Heads, page.Head{Name: c.short, Unit: "per node", Method: v.method(c.figure)})
	}
	for i := range v.families {
		f := &v.families[i]
		size, ok := v.comparable(f)
		if !ok {
			continue
		}
		for _, backend := range v.backends {
			r := f.find(backend, size)
			if r == nil || !v.compares(f, r) {
				continue
			}
			cells := []page.Cell{{Text: f.name()}, count(r.Nodes), page.Words(backend)}
			for _, c := range costs {
				cells = append(cells, ratioCell(v.ratio(f, r, c)))
			}
			t.Rows = append(t.Rows, page.Row{Cells: cells})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func ratioCell(r *ratio) page.Cell {
	if r == nil {
		return page.Cell{Text: units.Missing, HasValue: true}
	}
	small := ""
	if r.ok {
		small = "[" + units.Span(r.lo, r.hi, units.Number) + "]"
	}
	if r.undecided {
		return page.Cell{Text: r.short(), Small: small, HasValue: true}
	}
	return page.Figure(&r.value, units.Times, small)
}

var rowCosts = []cost{rowsRead, statements, commits, walBytes}

func (v *view) rowTable() *page.Table {
	t := &page.Table{Says: "All rows", Heads: []page.Head{
		{Name: "scenario", Words: true}, {Name: "size"}, {Name: "nodes"}, {Name: "backend", Words: true}, {Name: "valid", Words: true},
		{Name: "runs"}, {Name: "nodes/s", Method: v.method("nodes_per_s")},
	}}
	if v.held() {
		t.Heads = append(t.Heads, page.Head{Name: "of ceiling", Method: v.method("ceiling_fraction")})
	}
	for _, c := range rowCosts {
		t.Heads = append(t.Heads, page.Head{Name: c.short, Unit: "per node", Method: v.method(c.figure)})
	}
	t.Heads = append(t.Heads, page.Head{Name: "HOT", Unit: "of changes", Method: v.method("hot_share")},
		page.Head{Name: "row waits", Unit: "of time", Method: v.method("lock_wait_share")})
	for _, p := range []string{"p50", "p99", "p99.9", "max"} {
		t.Heads = append(t.Heads, page.Head{Name: p, Unit: "hop", Method: v.method("hop_ns")})
	}
	for _, p := range []string{"p50", "p99", "max"} {
		t.Heads = append(t.Heads, page.Head{Name: p, Unit: "instance", Method: v.method("instance_ns")})
	}
	for i := range v.families {
		for _, r := range v.families[i].rows {
			t.Rows = append(t.Rows, page.Row{Cells: v.rowCells(r), Doubtful: !r.Valid})
		}
	}
	return t
}

func (v *view) rowCells(r *record.Row) []page.Cell {
	valid := page.Words("yes")
	if !r.Valid {
		valid = page.Cell{Text: "no", Mark: page.Bad}
	}
	cells := []page.Cell{{Text: r.Scenario}, count(r.Size), count(r.Nodes), page.Words(r.Backend), valid, count(r.Runs)}
	if r.NodesPerS == nil {
		cells = append(cells, page.Cell{Text: units.Missing, HasValue: true})
	} else {
		cells = append(cells, page.Figure(&r.NodesPerS.Median, units.Number, units.Span(r.NodesPerS.Lo, r.NodesPerS.Hi, units.Number)))
	}
	if v.held() {
		cells = append(cells, page.Figure(r.CeilingFraction, units.Percent, r.Ceiling))
	}
	for _, c := range rowCosts {
		small := ""
		if around, ok := v.around(r, c); ok {
			small = units.Span(around.lo, around.hi, c.unit.Format)
		}
		cells = append(cells, page.Figure(c.row(r), c.unit.Format, small))
	}
	cells = append(cells, page.Figure(r.HOTShare, units.Percent, ""), page.Figure(r.LockWaitShare, units.Percent, ""))
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

func (v *view) claimTable() *page.Table {
	if len(v.summary.Claims) == 0 {
		return nil
	}
	t := &page.Table{Says: "Claims", Heads: []page.Head{
		{Name: "claim", Words: true}, {Name: "claimed"}, {Name: "measured"}, {Name: "measured / claimed"}, {Name: "how", Words: true},
	}}
	for _, c := range v.summary.Claims {
		format := claimFormat(c.Unit)
		small := ""
		if c.Lo != nil && c.Hi != nil {
			small = "[" + units.Span(*c.Lo, *c.Hi, units.Number) + "]"
		}
		share := page.Cell{Text: units.Missing, HasValue: true}
		if c.Measured != nil && c.Claimed != 0 {
			part := *c.Measured / c.Claimed
			share = page.Figure(&part, units.Number, "")
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			{Text: c.Name}, page.Figure(&c.Claimed, func(float64) string { return claimedText(c) }, ""), page.Figure(c.Measured, format, small), share,
			{Text: c.Method, Wrap: true},
		}})
	}
	return t
}

// claimedText keeps the published digits.
func claimedText(c record.Claim) string {
	text := strconv.FormatFloat(c.Claimed, 'f', -1, 64)
	if c.Claimed == math.Trunc(c.Claimed) && math.Abs(c.Claimed) < 1e15 {
		text = units.Thousands(int64(c.Claimed))
	}
	if c.Unit == "×" || c.Unit == "" {
		return text + c.Unit
	}
	return text + " " + c.Unit
}

func claimFormat(unit string) func(float64) string {
	switch unit {
	case "×":
		return units.Times
	case "":
		return units.Number
	}
	return func(v float64) string { return units.Number(v) + " " + unit }
}

// maxSampleRows bounds the table of single runs, so that the page of a long campaign still opens.
const maxSampleRows = 1500

func (v *view) sampleTable() *page.Table {
	t := &page.Table{Says: "Every run", Heads: []page.Head{
		{Name: "order"}, {Name: "scenario", Words: true}, {Name: "size"}, {Name: "backend", Words: true}, {Name: "run"},
		{Name: "valid", Words: true}, {Name: "elapsed"}, {Name: "nodes/s"},
	}}
	for _, c := range rowCosts {
		t.Heads = append(t.Heads, page.Head{Name: c.short, Unit: "per node"})
	}
	samples := v.manifest.Samples
	for i := range samples[:min(len(samples), maxSampleRows)] {
		s := &samples[i]
		valid := page.Words("yes")
		if !s.Valid {
			valid = page.Cell{Text: "no", Mark: page.Bad}
		}
		cells := []page.Cell{{Text: strconv.Itoa(s.Order)}, page.Words(s.Scenario), count(s.Size), page.Words(s.Backend), count(s.Run), valid,
			nanos(true, s.ElapsedNS), page.Figure(&s.NodesPerS, units.Number, "")}
		for _, c := range rowCosts {
			cells = append(cells, page.Figure(c.sample(s), c.unit.Format, ""))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells, Doubtful: !s.Valid})
	}
	return t
}
