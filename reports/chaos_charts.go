package reports

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"pulley/reports/record"
)

const (
	timeWidth    vg.Length = 900
	timeHeight   vg.Length = 260
	seriesHeight vg.Length = 200
	timeLabels             = 10 // approximate, on the time axis
	valueLabels            = 5
)

// throughputCharts marks the faults; there is none without completions.
func throughputCharts(t record.Timeline) []*Chart {
	if len(t.Completions) == 0 || t.WindowMS <= 0 {
		return nil
	}
	var points []point
	for i, n := range t.Completions {
		points = append(points, point{x: (float64(i) + 0.5) * t.WindowMS / 1000, y: float64(n) / t.WindowMS * 1000})
	}
	c := overTime("throughput", "Completions per second", points, axisText{"completions / s", tickNumber}, t.Faults, timeHeight)
	c.Caption = fmt.Sprintf("Completions that were applied, in windows of %s, by what the engines said. Bands are faults, from begin to end.",
		duration(t.WindowMS*1e6))
	return []*Chart{c}
}

func soakCharts(s *record.Soak, faults []record.FaultTime) []*Chart {
	var out []*Chart
	for _, one := range s.Series {
		var points []point
		for i, v := range one.Values {
			if v != nil {
				points = append(points, point{x: one.AtS[i], y: *v})
			}
		}
		if len(points) == 0 {
			continue
		}
		y := axisText{tick: tickNumber}
		if one.Unit == "bytes" {
			y.tick = tickUnit(byteUnits)
		}
		out = append(out, overTime("soak-"+fileName(one.Name), one.Name, points, y, faults, seriesHeight))
	}
	return out
}

// overTime draws one curve over seconds from zero, with faults behind it.
func overTime(name, title string, points []point, y axisText, faults []record.FaultTime, height vg.Length) *Chart {
	xMost, yMost := 1.0, 0.0
	for _, p := range points {
		xMost, yMost = max(xMost, p.x), max(yMost, p.y)
	}
	if yMost <= 0 {
		yMost = 1
	}
	c := &Chart{Name: name, Title: title, width: timeWidth, height: height, x: axisText{label: "seconds"}, y: y}
	groups := faultGroups(faults)
	for i, group := range groups {
		style := groupStyle(i)
		style.glyph.Shape = squareGlyph{}
		c.legend = append(c.legend, legendEntry{name: group, bare: true, style: style})
	}
	c.plot = func() *plot.Plot {
		p := newPlot()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, xMost, 0, yMost*1.05
		p.X.Tick.Marker = evenTicker{tickNumber, timeLabels}
		p.Y.Tick.Marker = evenTicker{y.tick, valueLabels}
		p.Add(gridLines{}, bands{faults, groups}, trace{points})
		return p
	}
	return c
}

func faultGroups(faults []record.FaultTime) []string {
	var out []string
	for _, f := range faults {
		out = append(out, faultGroup(f.Kind))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func faultGroup(kind string) string {
	group, _, _ := strings.Cut(kind, ".")
	return group
}

func groupStyle(i int) seriesStyle { return styleOf(1 + i) }

type bands struct {
	faults []record.FaultTime
	groups []string
}

const bandLeast vg.Length = 0.8

func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for _, f := range b.faults {
		from, to := toX(f.BeginMS/1000), toX(f.EndMS/1000)
		i, _ := slices.BinarySearch(b.groups, faultGroup(f.Kind))
		style := groupStyle(i)
		middle, width := (from+to)/2, max(bandLeast, to-from)
		if middle < c.Min.X || middle > c.Max.X {
			continue
		}
		// A band is at the top tenth, so that it hides nothing, with a thin line down from it.
		top := c.Max.Y - (c.Max.Y-c.Min.Y)/10
		c.StrokeLine2(draw.LineStyle{Color: style.color.light, Width: width}, middle, top, middle, c.Max.Y)
		c.StrokeLine2(draw.LineStyle{Color: style.color.light, Width: 0.4, Dashes: []vg.Length{1, 2}}, to, c.Min.Y, to, top)
	}
}

type trace struct{ points []point }

func (t trace) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	path := make([]vg.Point, len(t.points))
	for i, pt := range t.points {
		path[i] = vg.Point{X: toX(pt.x), Y: toY(pt.y)}
	}
	c.StrokeLines(draw.LineStyle{Color: seriesColors[0].light, Width: 1.2}, path)
}

// evenTicker makes about so many labels, at multiples of a round step.
type evenTicker struct {
	label  func(float64) string
	labels int
}

func (t evenTicker) Ticks(lo, hi float64) []plot.Tick {
	step := niceValue(niceIndex((hi-lo)/float64(t.labels), math.Ceil))
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		label := "0"
		if i != 0 {
			label = t.label(i * step)
		}
		ticks = append(ticks, plot.Tick{Value: i * step, Label: label})
	}
	return ticks
}
