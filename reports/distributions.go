package reports

import (
	"bytes"
	"fmt"
	"math"

	"pulley/bench/histogram"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// latencyLogs are the histograms beside a comparison, by their tags.
type latencyLogs struct {
	hops, instances map[string]*record.Distribution
	// wrong says what could not be read.
	wrong []string
}

// readLogs reads them from the record's files. What is damaged is said, and the page draws the percentiles of the summary instead.
func readLogs(files []page.File) latencyLogs {
	var out latencyLogs
	for _, f := range files {
		var into *map[string]*record.Distribution
		switch f.Name {
		case record.HopFile:
			into = &out.hops
		case record.InstanceFile:
			into = &out.instances
		default:
			continue
		}
		read, err := histogram.ReadLog(bytes.NewReader(f.Data))
		if err != nil {
			out.wrong = append(out.wrong, fmt.Sprintf("%s is damaged, so the page draws without it: %s.", f.Name, units.Clip(units.Printable(err.Error()), 200)))
			continue
		}
		*into = read
	}
	return out
}

// hop is nil if it is not known.
func (l *latencyLogs) hop(k record.Key) *record.Distribution { return l.hops[histogram.HopTag(k)] }

func (l *latencyLogs) instance(k record.Key) *record.Distribution {
	return l.instances[histogram.InstanceTag(k)]
}

// latencyPlots show the same times twice: how long the slowest take, and what share takes no longer.
type latencyPlots struct{ tail, share *chart.Plot }

func newLatencyPlots(name, title, method string) latencyPlots {
	latency := chart.Axis{Label: "latency", Scale: chart.Log, Unit: units.Nanoseconds}
	return latencyPlots{
		tail:  &chart.Plot{Name: name, Title: title, Method: method, X: chart.Axis{Label: "percentile", Scale: chart.Log, Unit: units.Percentile}, Y: latency},
		share: &chart.Plot{Name: name + "-share", Title: title, Method: method, X: latency, Y: chart.Axis{Label: "share that took no longer", Unit: units.Share, Scale: chart.Linear}},
	}
}

func rowPlots(kind, title, method string, f *family, size int) latencyPlots {
	return newLatencyPlots(kind+"-"+chart.FileName(f.label(size)+"-"+f.mode), f.label(size)+inMode(f)+": "+title, method)
}

// add draws a distribution into both.
func (p latencyPlots) add(name string, style int, d *record.Distribution) {
	p.tail.Series = append(p.tail.Series, chart.Series{Name: name, Kind: chart.Lines, Style: style, Points: tailPoints(d)})
	p.share.Series = append(p.share.Series, chart.Series{Name: name, Kind: chart.Steps, Style: style, Points: sharePoints(d)})
}

const (
	// tailLeast is how many times must lie above a percentile for it to be drawn or trusted.
	tailLeast = 10
	// tailSteps are the points of a curve for each factor of ten in 1/(1-p): finer than a page shows.
	tailSteps = 24
	// shareSteps are the points of a distribution function: finer than a page shows.
	shareSteps = 80
)

// tailPoints returns the quantiles at 1/(1-p) from the median on, until fewer than tailLeast times are above, or the rest had not
// ended.
func tailPoints(d *record.Distribution) []chart.Point {
	var out []chart.Point
	n := float64(d.Count())
	for i := 0; ; i++ {
		x := 2 * math.Pow(10, float64(i)/tailSteps)
		ns, ok := d.Quantile(1 - 1/x)
		if n/x < tailLeast || !ok {
			return out
		}
		out = append(out, chart.Point{X: x, Y: float64(max(ns, 1))})
	}
}

// sharePoints returns the share that took no longer than each time, from the shortest to the longest.
func sharePoints(d *record.Distribution) []chart.Point {
	n := float64(d.Count())
	if d.Ended() == 0 {
		return nil
	}
	first, _, _ := d.Bucket(0)
	out := []chart.Point{{X: float64(max(first, 1))}}
	below, shown := 0.0, 0.0
	for i := range d.FromNS {
		_, to, count := d.Bucket(i)
		below += float64(count)
		if below/n-shown >= 1.0/shareSteps || i == len(d.FromNS)-1 {
			shown = below / n
			out = append(out, chart.Point{X: float64(max(to, 1)), Y: shown})
		}
	}
	return out
}
