package reports

import (
	"fmt"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// latencySection has the tail of the hops and how far to trust it, and beneath it the WAL: what a reader asks after the speed.
// scenarioSection has the distributions.
func (v *view) latencySection() page.Section {
	s := page.Section{
		ID: "latency", Title: "p99.9, whether to trust it, and WAL",
		Lead: "A hop is from a completion to the start of what came after it: commit, dispatch, and the wait for a free worker.",
	}
	for _, wrong := range v.logs.wrong {
		s.Blocks = append(s.Blocks, page.Block{Text: wrong})
	}
	loaded, others := v.latencyTables()
	if loaded != nil {
		s.Blocks = append(s.Blocks, page.Block{Table: loaded})
	}
	if others != nil {
		s.Blocks = append(s.Blocks, page.Block{Fold: "The same of one instance at a time, with p50 and p99", Table: others})
	}
	return s
}

// hops is how many hops a row's runs measured: as its histogram says, or at most one for each node run.
func (v *view) hops(r *record.Row) int {
	if d := v.logs.hop(r.Key()); d != nil {
		return int(d.Count())
	}
	n := 0
	for _, s := range v.samples[r.Key()] {
		n += s.NodeRuns()
	}
	return n
}

func (v *view) hopPlots(f *family, size int) latencyPlots {
	p := rowPlots("hop", "hop latency", v.method("hop_ns"), f, size)
	var said, counts []string
	for i, name := range v.backends {
		r := f.find(name, size)
		if r == nil || r.HopNS == nil {
			continue
		}
		if d := v.logs.hop(r.Key()); d.Count() > 0 {
			p.add(name, i, d)
			counts = append(counts, fmt.Sprintf("%s %s", short(name), units.Plural(int(d.Count()), "hop")))
		} else {
			p.tail.Series = append(p.tail.Series, chart.Series{Name: name, Kind: chart.Lines, Style: i, Points: fewPercentiles(r.HopNS, v.hops(r))})
		}
		said = append(said, fmt.Sprintf("%s %s, %s", short(name), units.Duration(float64(r.HopNS.P50)), units.Duration(float64(r.HopNS.P99))))
	}
	p.tail.Says = "p50 and p99: " + strings.Join(said, "; ") + "."
	p.share.Says = "Measured: " + strings.Join(counts, "; ") + "."
	return p
}

// fewPercentiles is for records without histograms; n of 0 is unknown.
func fewPercentiles(p *record.Percentiles, n int) []chart.Point {
	var out []chart.Point
	for _, at := range []struct {
		x  float64
		ns int64
	}{{2, p.P50}, {100, p.P99}, {1000, p.P999}} {
		if n > 0 && float64(n)/at.x < tailLeast {
			break
		}
		out = append(out, chart.Point{X: at.x, Y: float64(at.ns)})
	}
	return out
}

func inMode(f *family) string {
	if f.mode == "" {
		return ""
	}
	return ", " + f.mode
}

// instancePlots has the times of all instances of all valid runs, of the histogram or of the samples.
func (v *view) instancePlots(f *family, size int) latencyPlots {
	p := rowPlots("instance", "from submitted to ended", v.method("instance_ns"), f, size)
	var said []string
	for i, name := range v.backends {
		r := f.find(name, size)
		if r == nil {
			continue
		}
		d := v.logs.instance(r.Key())
		if d.Count() == 0 {
			d = v.sampledInstances(r)
		}
		if d.Count() < 2*tailLeast {
			continue
		}
		p.add(name, i, d)
		median, _ := d.Quantile(0.5)
		said = append(said, fmt.Sprintf("%s %s over %s", short(name), units.Duration(float64(median)), units.Plural(int(d.Count()), "instance")))
	}
	p.tail.Says = "Medians: " + strings.Join(said, "; ") + "."
	p.share.Says = p.tail.Says
	return p
}

func (v *view) sampledInstances(r *record.Row) *record.Distribution {
	var times []int64
	for _, s := range v.samples[r.Key()] {
		times = append(times, s.InstanceNS...)
	}
	return record.NewDistribution(record.HistogramBits, times, 0)
}

// latencyTables have p99.9 of each scenario at its largest size by backend, and say where it rests on too few hops: of the rows of
// the load that throughput is of, with WAL, and of the others, with the lower percentiles. Nil: there are no such rows.
func (v *view) latencyTables() (loaded, others *page.Table) {
	doubt := fmt.Sprintf("%s stands where fewer than %d hops are above it: do not trust it.", unclear, tailLeast)
	loaded = v.latencyTable("p99.9 of a hop, and beneath it the WAL per node. "+doubt, func(f *family) bool { return f.mode == v.loadMode() }, func(r *record.Row) string {
		if r.WALBytesPerNode == nil {
			return ""
		}
		return units.Bytes(*r.WALBytesPerNode)
	})
	others = v.latencyTable("p99.9 of a hop, and beneath it p50 and p99. "+doubt, func(f *family) bool { return f.mode != v.loadMode() }, func(r *record.Row) string {
		return units.Duration(float64(r.HopNS.P50)) + ", " + units.Duration(float64(r.HopNS.P99))
	})
	return loaded, others
}

func (v *view) latencyTable(says string, has func(*family) bool, small func(*record.Row) string) *page.Table {
	t := &page.Table{Says: says, Heads: []page.Head{{Name: "scenario", Words: true}}}
	for _, name := range v.backends {
		t.Heads = append(t.Heads, page.Head{Name: units.Clip(name, mentionMax), Method: v.method("hop_ns")})
	}
	t.Heads = append(t.Heads, page.Head{Name: "hops", Unit: "of each"})
	for i := range v.families {
		if f := &v.families[i]; has(f) {
			if row, some := v.latencyRow(f, small); some {
				t.Rows = append(t.Rows, row)
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// latencyRow has the fewest hops of a backend at its end; some: a backend has any.
func (v *view) latencyRow(f *family, small func(*record.Row) string) (row page.Row, some bool) {
	size, _ := f.largest()
	row.Cells = []page.Cell{{Text: f.label(size) + inMode(f)}}
	fewest := 0
	for _, name := range v.backends {
		r := f.find(name, size)
		if r == nil || r.HopNS == nil {
			row.Cells = append(row.Cells, nanos(false, 0))
			continue
		}
		n := v.hops(r)
		if !some || n < fewest {
			fewest, some = n, true
		}
		c := nanos(true, r.HopNS.P999)
		if c.Small = small(r); n/1000 < tailLeast {
			c.Text = unclear + " " + c.Text
		}
		row.Cells = append(row.Cells, c)
	}
	hops := page.Cell{Text: units.Missing, HasValue: true}
	if fewest > 0 {
		hops = count(fewest)
	}
	row.Cells = append(row.Cells, hops)
	return row, some
}
