package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"pulley/reports/record"
)

const (
	kneeWidth  vg.Length = 560
	kneeHeight vg.Length = 340
	kneeLabels           = 7 // approximate, on an axis
)

var (
	openStyle   = styleOf(0)
	medianStyle = styleOf(2)
	closedStyle = styleOf(1)
)

// KneeCharts returns all charts of a report.
func KneeCharts(r *record.KneeReport) (out []*Chart) {
	for i := range r.Knees {
		if c := KneeChart(&r.Knees[i]); c != nil {
			out = append(out, c)
		}
	}
	for i := range r.Scalings {
		if c := ScalingChart(&r.Scalings[i]); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// KneeChartName names a chart by its content, scenario, size and backend.
func KneeChartName(what, scenario string, size int, backend string) string {
	return fileName(fmt.Sprintf("%s-%s-%d-%s", what, scenario, size, backend))
}

// KneeChart draws latency over the rate, with the objective and the knee's bounds; nil without latencies.
func KneeChart(k *record.Knee) *Chart {
	d := newKneeDrawing(k)
	if d == nil {
		return nil
	}
	c := &Chart{
		Name: KneeChartName("knee", k.Scenario, k.Size, k.Backend), Title: fmt.Sprintf("%s %s on %s: latency over rate", k.Scenario, thousands(int64(k.Size)), k.Backend),
		Caption: KneeSentence(k), width: kneeWidth, height: kneeHeight, x: axisText{"instances / s", tickNumber}, y: axisText{"latency", tickUnit(timeUnits)},
	}
	at := percentileText(k)
	c.legend = []legendEntry{
		{name: at + ", open loop", style: openStyle}, {name: "p50, open loop", style: medianStyle}, {name: at + ", closed loop", style: closedStyle},
	}
	if d.bound > 0 {
		c.legend = append(c.legend, legendEntry{name: "objective", style: seriesStyle{line: boundLine}})
	}
	if d.from > 0 {
		c.legend = append(c.legend, legendEntry{name: "knee", bare: true, style: seriesStyle{glyph: draw.GlyphStyle{Color: bandColor.light, Radius: 4.5, Shape: squareGlyph{}}}})
	}
	if len(d.overloads) > 0 {
		c.legend = append(c.legend, legendEntry{name: "overload", bare: true, style: seriesStyle{glyph: overloadGlyph}})
	}
	c.plot = func() *plot.Plot {
		p := newPlot()
		p.X.Min, p.X.Max = 0, d.xMax*1.05
		p.X.Tick.Marker = evenTicker{tickNumber, kneeLabels}
		setLogAxis(&p.Y, c.y, maxLabels, d.yLo, d.yHi)
		p.Add(d.band(), gridLines{}, d)
		return p
	}
	return c
}

var (
	boundLine     = draw.LineStyle{Color: ink.light, Width: 1, Dashes: []vg.Length{4, 3}}
	lawLine       = draw.LineStyle{Color: seriesColors[1].light, Width: 1.6}
	bandColor     = role{"--band", rgb(0xf3d9a4), rgb(0x5a4a20)}
	overloadGlyph = draw.GlyphStyle{Color: seriesColors[1].light, Radius: 4, Shape: draw.CrossGlyph{}}
)

type kneeDrawing struct {
	at, p50, closed series
	single          []point // of each run, behind the curve of the medians
	overloads       []float64
	bound           float64 // the objective's; 0: none
	from, to        float64 // the knee's; 0: not enclosed
	xMax, yLo, yHi  float64
}

func newKneeDrawing(k *record.Knee) *kneeDrawing {
	d := &kneeDrawing{yLo: math.Inf(1), yHi: math.Inf(-1)}
	d.at.style, d.p50.style, d.closed.style = openStyle, medianStyle, closedStyle
	for i := range k.Points {
		p := &k.Points[i]
		for j := range p.Runs {
			r := &p.Runs[j]
			switch {
			case r.Valid && r.Overloaded:
				d.overloads = append(d.overloads, p.RatePerS)
				d.xMax = max(d.xMax, p.RatePerS)
			case r.Valid && r.AtNS != nil:
				d.add(&d.single, p.RatePerS, float64(*r.AtNS))
			}
		}
		d.add(&d.at.points, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.AtNS) }))
		d.add(&d.p50.points, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.P50NS) }))
	}
	loops := slices.Clone(k.Closed)
	slices.SortStableFunc(loops, func(a, b record.KneeRun) int { return cmp.Compare(a.InFlight, b.InFlight) })
	for i := range loops {
		if r := &loops[i]; r.Valid {
			d.add(&d.closed.points, r.AchievedPerS, orNaN(r.AtNS))
		}
	}
	if len(d.at.points)+len(d.closed.points) == 0 {
		return nil
	}
	if len(k.Objectives) > 0 {
		d.bound = float64(k.Objectives[0].MostNS)
		d.yLo, d.yHi = min(d.yLo, d.bound), max(d.yHi, d.bound)
	}
	if k.Kind == "found" {
		d.from, d.to = *k.HoldsPerS, *k.BreaksPerS
		d.xMax = max(d.xMax, d.to)
	}
	return d
}

// kept returns the runs with meaningful latencies: those of an overloaded run depend on its length.
func kept(runs []record.KneeRun) (out []record.KneeRun) {
	for _, r := range runs {
		if r.Valid && !r.Overloaded {
			out = append(out, r)
		}
	}
	return out
}

func (d *kneeDrawing) add(to *[]point, x, y float64) {
	if !(y > 0) || math.IsInf(y, 0) {
		return
	}
	*to = append(*to, point{x: x, y: y, lo: y, hi: y})
	d.xMax, d.yLo, d.yHi = max(d.xMax, x), min(d.yLo, y), max(d.yHi, y)
}

func (d *kneeDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	if d.bound > 0 {
		c.StrokeLine2(boundLine, c.Min.X, toY(d.bound), c.Max.X, toY(d.bound))
	}
	for _, s := range []series{d.closed, d.p50, d.at} {
		curve{s}.Plot(c, p)
	}
	small := openStyle.glyph
	small.Radius = 1.8
	for _, pt := range d.single {
		c.DrawGlyphNoClip(small, vg.Point{X: toX(pt.x), Y: toY(pt.y)})
	}
	for _, x := range d.overloads {
		c.DrawGlyphNoClip(overloadGlyph, vg.Point{X: toX(x), Y: c.Max.Y - 5})
	}
}

func (d *kneeDrawing) band() plot.Plotter { return xBand{d.from, d.to} }

type xBand struct{ from, to float64 }

const xBandLeast vg.Length = 1.5

func (b xBand) Plot(c draw.Canvas, p *plot.Plot) {
	if b.from <= 0 {
		return
	}
	toX, _ := p.Transforms(&c)
	from, to := toX(b.from), toX(b.to)
	to = max(to, from+xBandLeast)
	polygonOf(&c, bandColor, []vg.Point{{X: from, Y: c.Min.Y}, {X: to, Y: c.Min.Y}, {X: to, Y: c.Max.Y}, {X: from, Y: c.Max.Y}})
}

func polygonOf(c *draw.Canvas, fill role, corners []vg.Point) {
	var path vg.Path
	for i, at := range corners {
		if i == 0 {
			path.Move(at)
		} else {
			path.Line(at)
		}
	}
	path.Close()
	c.SetColor(fill.light)
	c.Fill(path)
}

// ScalingChart draws throughput over the scaled number, with the law and its band; nil without measurements.
func ScalingChart(s *record.Scaling) *Chart {
	d := scalingDrawing{law: s.Law}
	for _, r := range s.Runs {
		if r.Valid {
			d.runs = append(d.runs, point{x: float64(r.N), y: r.PerS})
			d.xMax, d.yMax = max(d.xMax, float64(r.N)), max(d.yMax, r.PerS)
		}
	}
	if len(d.runs) == 0 {
		return nil
	}
	c := &Chart{
		Name: KneeChartName("scaling-"+s.What, s.Scenario, s.Size, s.Backend), Caption: ScalingSentence(s),
		Title: fmt.Sprintf("%s %s on %s: throughput over %s", s.Scenario, thousands(int64(s.Size)), s.Backend, s.What),
		width: kneeWidth, height: kneeHeight, x: axisText{s.What, tickNumber}, y: axisText{"instances / s", tickNumber},
		legend: []legendEntry{{name: "runs", bare: true, style: openStyle}},
	}
	if d.law != nil {
		for _, p := range d.law.Curve {
			d.xMax, d.yMax = max(d.xMax, p.N), max(d.yMax, p.Hi)
		}
		c.legend = append(c.legend, legendEntry{name: "Universal Scalability Law", style: seriesStyle{line: lawLine}},
			legendEntry{name: "95 % band", bare: true, style: seriesStyle{glyph: draw.GlyphStyle{Color: bandColor.light, Radius: 4.5, Shape: squareGlyph{}}}})
		if v := d.law.Peak.Value; d.law.Determined && v != nil && *v <= d.xMax {
			d.peak = *v
			c.legend = append(c.legend, legendEntry{name: "peak", style: seriesStyle{line: boundLine}})
		}
	}
	c.plot = func() *plot.Plot {
		p := newPlot()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, d.xMax*1.04, 0, d.yMax*1.08
		p.X.Tick.Marker, p.Y.Tick.Marker = evenTicker{tickNumber, kneeLabels}, evenTicker{tickNumber, kneeLabels}
		p.Add(scalingBand{d}, gridLines{}, d)
		return p
	}
	return c
}

type scalingDrawing struct {
	runs       []point
	law        *record.ScalingLaw
	peak       float64
	xMax, yMax float64
}

func (d scalingDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	if d.peak > 0 {
		c.StrokeLine2(boundLine, toX(d.peak), c.Min.Y, toX(d.peak), c.Max.Y)
	}
	if d.law != nil {
		var path []vg.Point
		for _, pt := range d.law.Curve {
			path = append(path, vg.Point{X: toX(pt.N), Y: toY(pt.PerS)})
		}
		c.StrokeLines(lawLine, path)
	}
	for _, pt := range d.runs {
		c.DrawGlyphNoClip(openStyle.glyph, vg.Point{X: toX(pt.x), Y: toY(pt.y)})
	}
}

type scalingBand struct{ scalingDrawing }

func (d scalingBand) Plot(c draw.Canvas, p *plot.Plot) {
	if d.law == nil || len(d.law.Curve) == 0 {
		return
	}
	toX, toY := p.Transforms(&c)
	var corners []vg.Point
	for _, pt := range d.law.Curve {
		corners = append(corners, vg.Point{X: toX(pt.N), Y: toY(pt.Hi)})
	}
	for i := len(d.law.Curve) - 1; i >= 0; i-- {
		corners = append(corners, vg.Point{X: toX(d.law.Curve[i].N), Y: toY(d.law.Curve[i].Lo)})
	}
	polygonOf(&c, bandColor, corners)
}
