package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is one drawing of a report.
type Chart struct {
	// Name is unique within a report and fit for a file name: "fanout-rows_read_per_node".
	Name string
	// Title is what is shown. Caption is what to notice, and how it was measured.
	Title, Caption string

	width, height vg.Length
	legend        []legendEntry
	x, y          axisText
	// for names to the left of the plot
	column vg.Length
	names  func(column draw.Canvas, y func(float64) vg.Length)
	plot   func() *plot.Plot
}

// legendEntry with a glyph alone has no line.
type legendEntry struct {
	name  string
	style seriesStyle
	bare  bool
}

const (
	chartWidth  vg.Length = 380
	chartHeight vg.Length = 284
	chartMargin vg.Length = 8
	titleSize   vg.Length = 13
	labelSize   vg.Length = 10.5
	legendSize  vg.Length = 10.5
	legendRow   vg.Length = 15.5
	legendLine  vg.Length = 24
	legendGap   vg.Length = 12
	barRow      vg.Length = 16
	barIndent   vg.Length = 10
	textLift    vg.Length = 1.2 // corrects the library's vertical centring
	pictureDPI            = 192

	// In runes, within a drawing, and in labels of an axis.
	maxBarName   = 32
	maxLabels    = 8
	maxBarLabels = 5
)

// Write draws the chart as "svg" or "png", self-contained, in light colours; a PNG has a background.
func (c *Chart) Write(w io.Writer, format string) error {
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(c.width, c.height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(pictureDPI))}
	default:
		return fmt.Errorf("draw chart %s: format %q is not known: use svg or png", c.Name, format)
	}
	c.draw(draw.New(canvas))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("draw chart %s: %w", c.Name, err)
	}
	return nil
}

var (
	svgProlog   = regexp.MustCompile(`(?s)^.*?<svg [^>]*viewBox="([^"]*)"[^>]*>`)
	fontFamily  = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;`)
	xlinkOrXMLN = regexp.MustCompile(`\s+xmlns(:\w+)?="[^"]*"`)
)

// inline uses the page's width, font and colours.
func (c *Chart) inline() (string, error) {
	var raw bytes.Buffer
	if err := c.Write(&raw, "svg"); err != nil {
		return "", err
	}
	svg := xlinkOrXMLN.ReplaceAllString(raw.String(), "")
	found := svgProlog.FindStringSubmatch(svg)
	if found == nil {
		return "", fmt.Errorf("draw chart %s: the drawing has no viewBox", c.Name)
	}
	open := fmt.Sprintf(`<svg viewBox="%s" role="img" aria-label="%s" preserveAspectRatio="xMidYMid meet">`, found[1],
		escape(c.Title))
	svg = open + svg[len(found[0]):]
	return useVariables(fontFamily.ReplaceAllString(svg, "")), nil
}

func (c *Chart) draw(dc draw.Canvas) {
	dc.SetColor(paper.light)
	dc.Fill(dc.Rectangle.Path())
	dc = draw.Crop(dc, chartMargin, -chartMargin, chartMargin, -chartMargin)

	title := textStyle(ink, titleSize, true)
	title.YAlign = text.YTop
	dc.FillText(title, dc.Min.Add(vg.Point{Y: dc.Size().Y}), fit(title, c.Title, dc.Size().X))
	dc.Max.Y -= titleSize * 1.5
	dc.Max.Y -= c.drawLegend(dc) + 8

	label := textStyle(faint, labelSize, false)
	label.XAlign, label.YAlign = text.XCenter, text.YBottom
	area := dc
	area.Min.Y += labelSize * 1.5
	area.Min.X += c.column
	if c.y.label != "" {
		area.Min.X += labelSize * 1.5
		upright := label
		upright.Rotation = math.Pi / 2
		dc.FillText(upright, vg.Point{X: dc.Min.X + labelSize, Y: area.Center().Y}, c.y.label)
	}
	p := c.plot()
	p.Draw(area)
	data := p.DataCanvas(area)
	dc.FillText(label, vg.Point{X: data.Center().X, Y: dc.Min.Y}, c.x.label)
	if c.names != nil {
		_, toY := p.Transforms(&data)
		c.names(dc, toY)
	}
}

// drawLegend uses as many rows as needed above the plot, and returns its height.
func (c *Chart) drawLegend(dc draw.Canvas) vg.Length {
	style := textStyle(ink, legendSize, false)
	style.YAlign = text.YCenter
	x, y := dc.Min.X, dc.Max.Y-legendRow/2
	for i, e := range c.legend {
		sample := legendLine
		if e.bare {
			sample = 10
		}
		name := fit(style, e.name, dc.Size().X-sample-4)
		width := sample + 4 + style.Width(name)
		if i > 0 && x+width > dc.Max.X {
			x, y = dc.Min.X, y-legendRow
		}
		if !e.bare {
			dc.StrokeLine2(e.style.line, x, y, x+sample, y)
		}
		dc.DrawGlyphNoClip(e.style.glyph, vg.Point{X: x + sample/2, Y: y})
		dc.FillText(style, vg.Point{X: x + sample + 4, Y: y + textLift}, name)
		x += width + legendGap
	}
	if len(c.legend) == 0 {
		return 0
	}
	return dc.Max.Y - y + legendRow/2
}

func fit(style text.Style, s string, width vg.Length) string {
	s = clip(printable(s), 1000) // longer texts never fit, and measuring is slow
	shorter := s
	for n := utf8.RuneCountInString(s) - 1; n > 0 && style.Width(shorter) > width; n-- {
		shorter = clip(s, n)
	}
	return shorter
}

type series struct {
	name   string
	style  seriesStyle
	points []point
}

// point is one figure. Lo and hi equal y if no spread is known.
type point struct{ x, y, lo, hi float64 }

func positive(points []point) []point {
	var out []point
	for _, p := range points {
		if p.x > 0 && p.y > 0 && !math.IsInf(p.x, 0) && !math.IsInf(p.y, 0) {
			p.lo, p.hi = min(max(p.lo, p.y/1e3), p.y), max(p.hi, p.y)
			out = append(out, p)
		}
	}
	return out
}

type axisText struct {
	label string
	tick  func(float64) string
}

// lines uses logarithmic axes; nil without points.
func lines(c Chart, x, y axisText, all []series) *Chart {
	var drawn []series
	xLo, xHi, yLo, yHi := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range all {
		s.points = positive(s.points)
		if len(s.points) == 0 {
			continue
		}
		drawn = append(drawn, s)
		c.legend = append(c.legend, legendEntry{name: s.name, style: s.style})
		for _, p := range s.points {
			xLo, xHi, yLo, yHi = min(xLo, p.x), max(xHi, p.x), min(yLo, p.lo), max(yHi, p.hi)
		}
	}
	if len(drawn) == 0 {
		return nil
	}
	c.width, c.height, c.x, c.y = chartWidth, chartHeight, x, y
	c.plot = func() *plot.Plot {
		p := newPlot()
		setLogAxis(&p.X, x, maxLabels, xLo, xHi)
		setLogAxis(&p.Y, y, maxLabels, yLo, yHi)
		p.Add(gridLines{})
		for _, s := range drawn {
			p.Add(curve{s})
		}
		return p
	}
	return &c
}

func setLogAxis(a *plot.Axis, t axisText, labels int, lo, hi float64) {
	a.Min, a.Max = logLimits(lo, hi)
	a.Scale = plot.LogScale{}
	a.Tick.Marker = logTicker{t.tick, labels}
}

type gridLines struct{}

func (gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: grid.light, Width: 0.7}
	toX, toY := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(style, toX(t.Value), c.Min.Y, toX(t.Value), c.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(style, c.Min.X, toY(t.Value), c.Max.X, toY(t.Value))
		}
	}
}

type curve struct{ series }

func (s curve) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	bar := draw.LineStyle{Color: s.style.line.Color, Width: 0.9}
	path := make([]vg.Point, len(s.points))
	for i, pt := range s.points {
		x := toX(pt.x)
		path[i] = vg.Point{X: x, Y: toY(pt.y)}
		lo, hi := toY(pt.lo), toY(pt.hi)
		if hi-lo > 1 {
			c.StrokeLine2(bar, x, lo, x, hi)
			c.StrokeLine2(bar, x-2.5, lo, x+2.5, lo)
			c.StrokeLine2(bar, x-2.5, hi, x+2.5, hi)
		}
	}
	c.StrokeLines(s.style.line, path)
	for _, at := range path {
		c.DrawGlyphNoClip(s.style.glyph, at)
	}
}

// GlyphBoxes keeps markers at the edge from being clipped.
func (s curve) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	boxes := make([]plot.GlyphBox, len(s.points))
	for i, pt := range s.points {
		boxes[i] = plot.GlyphBox{X: p.X.Norm(pt.x), Y: p.Y.Norm(pt.y), Rectangle: s.style.glyph.Rectangle()}
	}
	return boxes
}

type bar struct {
	name  string
	color role
	marks []float64
}

var markShapes = map[string]draw.GlyphDrawer{
	"p50": draw.CircleGlyph{}, "p99": diamondGlyph{}, "p99.9": triangleGlyph{}, "max": barGlyph{},
}

// ranges has a line per bar and a mark for each of names; nil without bars. A bar without marks is a heading.
func ranges(c Chart, x axisText, names []string, bars []bar) *Chart {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range bars {
		for j, v := range bars[i].marks {
			v = max(v, 1) // a log axis cannot show 0 ns
			bars[i].marks[j] = v
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return nil
	}
	c.width, c.height, c.x = chartWidth, vg.Length(len(bars))*barRow+80, x
	for _, name := range names {
		glyph := draw.GlyphStyle{Color: ink.light, Radius: 3.6, Shape: markShapes[name]}
		c.legend = append(c.legend, legendEntry{name: name, bare: true, style: seriesStyle{color: ink, glyph: glyph}})
	}
	for _, b := range bars {
		c.column = max(c.column, b.style().Width(b.label())+barIndent+8)
	}
	c.names = func(column draw.Canvas, toY func(float64) vg.Length) {
		for i, b := range bars {
			at := vg.Point{X: column.Min.X, Y: toY(float64(len(bars)-1-i)) + textLift}
			if len(b.marks) > 0 {
				at.X += barIndent
			}
			column.FillText(b.style(), at, b.label())
		}
	}
	c.plot = func() *plot.Plot {
		p := newPlot()
		setLogAxis(&p.X, x, maxBarLabels, lo, hi)
		p.Y.Min, p.Y.Max = -0.5, float64(len(bars))-0.5
		p.HideY()
		p.Y.Padding = 0
		p.Add(verticalGrid{}, barRows{names, bars})
		return p
	}
	return &c
}

func (b bar) label() string { return clip(printable(b.name), maxBarName) }

func (b bar) style() text.Style {
	s := textStyle(ink, labelSize, len(b.marks) == 0)
	s.YAlign = text.YCenter
	return s
}

type verticalGrid struct{}

func (verticalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(draw.LineStyle{Color: grid.light, Width: 0.7}, toX(t.Value), c.Min.Y, toX(t.Value), c.Max.Y)
		}
	}
}

type barRows struct {
	names []string
	bars  []bar
}

func (b barRows) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, row := range b.bars {
		y := toY(float64(len(b.bars) - 1 - i))
		if len(row.marks) == 0 {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: row.color.light, Width: 1.6}, toX(row.marks[0]), y, toX(row.marks[len(row.marks)-1]), y)
		for j, v := range row.marks {
			glyph := draw.GlyphStyle{Color: row.color.light, Radius: 3.4, Shape: markShapes[b.names[j]]}
			c.DrawGlyphNoClip(glyph, vg.Point{X: toX(v), Y: y})
		}
	}
}

func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, clip(text, 80))
}
