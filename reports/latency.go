package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// latencySection has the distributions of latency: hops by percentile, instances by all their times.
func (v *view) latencySection() page.Section {
	s := page.Section{
		ID: "latency", Title: "Latency",
		Lead: "A hop is from a completion to the start of what came after it: commit, dispatch, and the wait for a free worker. The axis of percentiles " +
			"is stretched towards the worst: each nine has the same room. A curve ends where the runs have too few times to say more.",
	}
	if t := v.latencyTable(); t != nil {
		s.Blocks = append(s.Blocks, page.Block{Heading: "p99.9, and whether to trust it", Table: t})
	}
	var hops, instances []*chart.Plot
	for i := range v.families {
		f := &v.families[i]
		size, ok := f.largest()
		if !ok {
			continue
		}
		if p := v.hopChart(f, size); p != nil {
			hops = append(hops, p)
		}
		if p := v.instanceChart(f, size); p != nil {
			instances = append(instances, p)
		}
	}
	if len(hops) > 0 {
		s.Blocks = append(s.Blocks, page.Block{Heading: "Hop latency by percentile", Charts: hops})
	}
	if len(instances) > 0 {
		s.Blocks = append(s.Blocks, page.Block{Heading: "Instance latency by percentile", Charts: instances})
	}
	return s
}

// tailLeast is how many times must lie above a percentile for it to be drawn or trusted.
const tailLeast = 10

// hops is how many hops a row's runs measured at most: one for each node run.
func (v *view) hops(r *record.Row) int {
	n := 0
	for _, s := range v.samples[r.Key()] {
		n += s.NodeRuns()
	}
	return n
}

func (v *view) hopChart(f *family, size int) *chart.Plot {
	p := percentilePlot("hop-"+chart.FileName(f.label(size)+"-"+f.mode), fmt.Sprintf("%s%s: hop latency", f.label(size), inMode(f)))
	p.Method = v.method("hop_ns")
	var said []string
	for i, name := range v.backends {
		r := f.find(name, size)
		if r == nil || r.HopNS == nil {
			continue
		}
		n := v.hops(r)
		s := chart.Series{Name: name, Kind: chart.Lines, Style: i}
		for _, at := range []struct {
			x  float64
			ns int64
		}{{2, r.HopNS.P50}, {100, r.HopNS.P99}, {1000, r.HopNS.P999}} {
			if n > 0 && float64(n)/at.x < tailLeast {
				break
			}
			s.Points = append(s.Points, chart.Point{X: at.x, Y: float64(at.ns)})
		}
		p.Series = append(p.Series, s)
		said = append(said, fmt.Sprintf("%s %s, %s", short(name), units.Duration(float64(r.HopNS.P50)), units.Duration(float64(r.HopNS.P99))))
	}
	if p.Empty() {
		return nil
	}
	p.Says = "p50 and p99: " + strings.Join(said, "; ") + "."
	return p
}

func percentilePlot(name, title string) *chart.Plot {
	return &chart.Plot{
		Name: name, Title: title, X: chart.Axis{Label: "percentile", Scale: chart.Log, Unit: units.Percentile},
		Y: chart.Axis{Label: "latency", Scale: chart.Log, Unit: units.Nanoseconds},
	}
}

func inMode(f *family) string {
	if f.mode == "" {
		return ""
	}
	return ", " + f.mode
}

// instanceChart draws the times of all instances of all valid runs, as far into the tail as they carry.
func (v *view) instanceChart(f *family, size int) *chart.Plot {
	p := percentilePlot("instance-"+chart.FileName(f.label(size)+"-"+f.mode), fmt.Sprintf("%s%s: from submitted to ended", f.label(size), inMode(f)))
	p.Method = v.method("instance_ns")
	var said []string
	for i, name := range v.backends {
		r := f.find(name, size)
		if r == nil {
			continue
		}
		var times []int64
		for _, s := range v.samples[r.Key()] {
			times = append(times, s.InstanceNS...)
		}
		points := tailPoints(times)
		if len(points) < 2 {
			continue
		}
		p.Series = append(p.Series, chart.Series{Name: name, Kind: chart.Lines, Style: i, Points: points})
		said = append(said, fmt.Sprintf("%s %s over %s", short(name), units.Duration(points[0].Y), units.Plural(len(times), "instance")))
	}
	if p.Empty() {
		return nil
	}
	p.Says = "Medians: " + strings.Join(said, "; ") + "."
	return p
}

// tailSteps are the points of a curve for each factor of ten in 1/(1-p).
const tailSteps = 12

// tailPoints returns the quantiles at 1/(1-p) from 2 on, until fewer than tailLeast times are above.
func tailPoints(times []int64) []chart.Point {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	var out []chart.Point
	for i := 0; ; i++ {
		x := 2 * math.Pow(10, float64(i)/tailSteps)
		if len(sorted) == 0 || float64(len(sorted))/x < tailLeast {
			return out
		}
		rank := int(math.Ceil(float64(len(sorted))*(1-1/x))) - 1
		out = append(out, chart.Point{X: x, Y: float64(sorted[max(rank, 0)])})
	}
}

// latencyTable has p99.9 of each scenario at its largest size by backend, and says where it rests on too few hops.
func (v *view) latencyTable() *page.Table {
	t := &page.Table{Says: fmt.Sprintf("p99.9 of a hop, beneath it p50 and p99. ~ stands where fewer than %d hops are above it: do not trust it.", tailLeast),
		Heads: []page.Head{{Name: "scenario", Words: true}}}
	for _, name := range v.backends {
		t.Heads = append(t.Heads, page.Head{Name: units.Clip(name, mentionMax), Method: v.method("hop_ns")})
	}
	t.Heads = append(t.Heads, page.Head{Name: "hops", Unit: "of each"})
	for i := range v.families {
		f := &v.families[i]
		size, _ := f.largest()
		row := page.Row{Cells: []page.Cell{{Text: f.label(size) + inMode(f)}}}
		fewest, some := 0, false
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
			row.Cells = append(row.Cells, tailCell(r.HopNS, n))
		}
		if !some {
			continue
		}
		hops := page.Cell{Text: units.Missing, HasValue: true}
		if fewest > 0 {
			hops = count(fewest)
		}
		row.Cells = append(row.Cells, hops)
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// tailCell doubts p99.9 of n hops if too few lie above it; n of 0 is unknown.
func tailCell(h *record.Percentiles, n int) page.Cell {
	c := nanos(true, h.P999)
	c.Small = units.Duration(float64(h.P50)) + ", " + units.Duration(float64(h.P99))
	if n/1000 < tailLeast {
		c.Text = unclear + " " + c.Text
	}
	return c
}
