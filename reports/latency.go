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

// latencyTable says of each row at its largest size p99.9, and from how many times it comes.
func (v *view) latencyTable() *page.Table {
	t := &page.Table{Says: "Hop latency at each scenario's largest size, with how many hops it comes from", Heads: []page.Head{
		{Name: "scenario", Words: true}, {Name: "backend", Words: true}, {Name: "p50", Unit: "hop"}, {Name: "p99", Unit: "hop"}, {Name: "p99.9", Unit: "hop"}, {Name: "max", Unit: "hop"},
		{Name: "hops", Unit: "measured"}, {Name: "p99.9 rests on", Words: true},
	}}
	for i := range v.families {
		f := &v.families[i]
		size, _ := f.largest()
		for _, name := range v.backends {
			r := f.find(name, size)
			if r == nil || r.HopNS == nil {
				continue
			}
			n := v.hops(r)
			trust := page.Cell{Text: fmt.Sprintf("%s above it, of %s", units.Thousands(int64(n/1000)), units.Plural(r.Runs, "run"))}
			switch {
			case n == 0:
				trust.Text = "runs that this record does not have"
			case n/1000 < tailLeast:
				trust = page.Cell{Text: fmt.Sprintf("too few: %s above it", units.Thousands(int64(n/1000))), Mark: page.Bad}
			}
			hops := page.Cell{Text: units.Missing, HasValue: true}
			if n > 0 {
				hops = count(n)
			}
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
				{Text: f.label(size) + inMode(f)}, page.Words(name), nanos(true, r.HopNS.P50), nanos(true, r.HopNS.P99), nanos(true, r.HopNS.P999), nanos(true, r.HopNS.Max), hops, trust,
			}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}
