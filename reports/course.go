package reports

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Course is a figure from run to run, with the levels between its changes.
type Course struct {
	Title, Caption string
	Values         []float64
	// with its unit, for the axis
	Label func(float64) string
	// The figure changes between levels.
	Levels []Level
}

// Level is a stretch of a Course.
type Level struct {
	// run indices, from 0; To is exclusive
	From, To int
	Value    float64
	// Name stands where the level begins: the first revision with it. Empty for the first one.
	Name string
}

const (
	courseWidth  vg.Length = 640
	courseHeight vg.Length = 300
)

// CourseChart draws a course on linear axes: a dot per run, a line per level, and an upright one at changes. It fails if there
// is no value, one is not finite, or a level lies outside of the runs.
func CourseChart(c Course) (*Chart, error) {
	if len(c.Values) == 0 {
		return nil, errors.New("there is no run to draw")
	}
	for i, v := range c.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("run %d has a value of %v", i+1, v)
		}
	}
	for _, l := range c.Levels {
		if l.From < 0 || l.To > len(c.Values) || l.From >= l.To {
			return nil, fmt.Errorf("a level from run %d to %d is not among %d runs", l.From, l.To, len(c.Values))
		}
	}
	run, level := styleOf(0), styleOf(1)
	run.glyph.Radius = 2.4
	level.line.Width, level.line.Dashes = 2, nil
	lo, hi := slices.Min(c.Values), slices.Max(c.Values)
	room := cmp.Or(0.08*(hi-lo), max(0.05*math.Abs(hi), 1e-12))
	return &Chart{
		Name: fileName(c.Title), Title: c.Title, Caption: c.Caption, width: courseWidth, height: courseHeight,
		legend: []legendEntry{{name: "run", style: run, bare: true}, {name: "median between changes", style: seriesStyle{line: level.line, glyph: draw.GlyphStyle{Shape: noGlyph{}}}}},
		x:      axisText{label: "run, in the order of time"},
		plot: func() *plot.Plot {
			p := newPlot()
			p.X.Min, p.X.Max = 0.5, float64(len(c.Values))+0.5
			p.Y.Min, p.Y.Max = lo-room, hi+2*room // names stand above
			p.X.Tick.Marker = linearTicker{label: func(v float64) string { return thousands(int64(v)) }, whole: true}
			p.Y.Tick.Marker = linearTicker{label: c.Label}
			p.Add(gridLines{}, courseDrawing{c, run, level})
			return p
		},
	}, nil
}

type linearTicker struct {
	label func(float64) string
	whole bool // label only whole numbers
}

func (t linearTicker) Ticks(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	for _, tick := range (plot.DefaultTicks{}).Ticks(lo, hi) {
		switch {
		case tick.IsMinor():
		case t.whole && tick.Value != math.Trunc(tick.Value):
			continue
		default:
			tick.Label = t.label(tick.Value)
		}
		out = append(out, tick)
	}
	return out
}

type noGlyph struct{}

func (noGlyph) DrawGlyph(*draw.Canvas, draw.GlyphStyle, vg.Point) {}

type courseDrawing struct {
	Course
	run, level seriesStyle
}

// Plot draws upright lines and names first, then runs, then levels.
func (d courseDrawing) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	edge := func(i int) vg.Length { return toX(float64(i) + 0.5) } // left of run i
	name := textStyle(ink, labelSize, false)
	name.XAlign, name.YAlign = text.XLeft, text.YTop
	free := c.Min.X
	for _, l := range d.Levels {
		if l.From == 0 {
			continue
		}
		x := edge(l.From)
		c.StrokeLine2(draw.LineStyle{Color: faint.light, Width: 0.9, Dashes: []vg.Length{3, 2}}, x, c.Min.Y, x, c.Max.Y)
		at, width := x+3, name.Width(l.Name)
		if at+width > c.Max.X {
			at = x - 3 - width
		}
		if l.Name != "" && at >= free { // otherwise it would overlap the previous name
			c.FillText(name, vg.Point{X: at, Y: c.Max.Y - 2}, printable(l.Name))
			free = at + width + 4
		}
	}
	for i, v := range d.Values {
		c.DrawGlyphNoClip(d.run.glyph, vg.Point{X: toX(float64(i + 1)), Y: toY(v)})
	}
	for _, l := range d.Levels {
		c.StrokeLine2(d.level.line, edge(l.From), toY(l.Value), edge(l.To), toY(l.Value))
	}
}
