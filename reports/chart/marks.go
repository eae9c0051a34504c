package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// marks draws bands, grid, rules and series into the axes.
type marks struct{ *drawing }

// grouper is a canvas that can put what follows into a group, so that a page's script finds a series.
type grouper interface {
	beginGroup(series int)
	endGroup()
}

func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for _, b := range m.Bands {
		m.band(c, b, toX)
	}
	m.grid(c, p)
	named := c.Min.X - 1 // up to where there are names of upright rules
	for _, r := range m.Rules {
		named = m.rule(c, r, toX, toY, named)
	}
	if m.Y.Scale == Rows {
		m.leaders(c, toX, toY)
	}
	groups, grouped := innermost(c).(grouper)
	for i := range m.series {
		s := &m.series[i]
		if grouped {
			groups.beginGroup(m.index(s.Name))
		}
		at := place{m.drawing, s, s.look(), toX, func(y float64) vg.Length { return toY(m.rowY(y)) }}
		at.draw(c)
		if grouped {
			groups.endGroup()
		}
	}
}

// innermost is what is drawn on: the library puts canvases into canvases.
func innermost(c draw.Canvas) vg.Canvas {
	for {
		inner, ok := c.Canvas.(draw.Canvas)
		if !ok {
			return c.Canvas
		}
		c = inner
	}
}

// index is the place of a name in the legend: series of one name are hidden together.
func (d *drawing) index(name string) int {
	for i, e := range d.legendEntries() {
		if e.name == name {
			return i
		}
	}
	return -1
}

func (m marks) grid(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: grid.light, Width: 0.8}
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

// leaders join the leftmost and the rightmost marker of each row.
func (m marks) leaders(c draw.Canvas, toX, toY func(float64) vg.Length) {
	ends := map[float64][2]float64{}
	for _, s := range m.series {
		if s.Kind != Dots {
			continue
		}
		for _, pt := range s.Points {
			row := math.Round(pt.Y)
			e, ok := ends[row]
			if !ok {
				e = [2]float64{pt.X, pt.X}
			}
			ends[row] = [2]float64{min(e[0], pt.X), max(e[1], pt.X)}
		}
	}
	for i := range m.Y.Names {
		if e, ok := ends[float64(i)]; ok {
			y := toY(m.rowY(float64(i)))
			c.StrokeLine2(draw.LineStyle{Color: grid.light, Width: 1.6}, toX(e[0]), y, toX(e[1]), y)
		}
	}
}

func (b *Band) color() role {
	if b.Top {
		return seriesColors[mod(b.Style, len(seriesColors))]
	}
	return band
}

const bandLeast vg.Length = 1.2

func (m marks) band(c draw.Canvas, b Band, toX func(float64) vg.Length) {
	if !m.X.holds(b.From) || !m.X.holds(b.To) || b.To < m.x[0] || b.From > m.x[1] {
		return
	}
	from, to := toX(max(b.From, m.x[0])), toX(min(b.To, m.x[1]))
	to = max(to, from+bandLeast)
	if !b.Top {
		box(&c, b.color().light, from, c.Min.Y, to, c.Max.Y)
		return
	}
	top := c.Max.Y - (c.Max.Y-c.Min.Y)/12
	box(&c, b.color().light, from, top, to, c.Max.Y)
	c.StrokeLine2(draw.LineStyle{Color: b.color().light, Width: 0.5, Dashes: []vg.Length{1, 2}}, from, c.Min.Y, from, top)
}

// rule draws a rule. The name of an upright one stands above the data, unless another's, which ends at named, is there.
func (m marks) rule(c draw.Canvas, r Rule, toX, toY func(float64) vg.Length, named vg.Length) vg.Length {
	line := draw.LineStyle{Color: ink.light, Width: 1, Dashes: []vg.Length{4, 3}}
	name := textStyle(faint, labelSize, false)
	name.YAlign = text.YBottom
	if !r.Upright {
		if m.Y.holds(r.At) && r.At >= m.y[0] && r.At <= m.y[1] {
			y := toY(r.At)
			c.StrokeLine2(line, c.Min.X, y, c.Max.X, y)
			name.XAlign = text.XRight
			c.FillText(name, vg.Point{X: c.Max.X - 2, Y: y + 2}, fit(name, r.Name, c.Size().X))
		}
		return named
	}
	if !m.X.holds(r.At) || r.At < m.x[0] || r.At > m.x[1] {
		return named
	}
	x := toX(r.At)
	c.StrokeLine2(line, x, c.Min.Y, x, c.Max.Y)
	shown := fit(name, r.Name, c.Size().X/2)
	width := name.Width(shown)
	if left := max(c.Min.X, min(x-width/2, c.Max.X-width)); left > named {
		c.FillText(name, vg.Point{X: left, Y: c.Max.Y + 3}, shown)
		return left + width + 4
	}
	return named
}

// place is a series among its axes.
type place struct {
	*drawing
	s        *Series
	look     seriesStyle
	toX, toY func(float64) vg.Length
}

func (a place) draw(c draw.Canvas) {
	switch a.s.Kind {
	case Lines:
		a.intervals(c)
		c.StrokeLines(a.look.line, a.path())
		if len(a.s.Points) <= markersMost {
			a.markers(c)
		}
	case Dots:
		a.intervals(c)
		a.markers(c)
	case Steps:
		c.StrokeLines(a.look.line, a.steps())
	case Spans:
		a.spans(c)
	case Ticks:
		for _, pt := range a.s.Points {
			x, y := a.toX(pt.X), a.toY(pt.Y)
			c.StrokeLine2(a.look.line, x, y-10, x, y+10)
		}
	case Cells:
		a.cells(c)
	case Area:
		a.fill(c)
	}
}

func (a place) path() []vg.Point {
	out := make([]vg.Point, len(a.s.Points))
	for i, pt := range a.s.Points {
		out[i] = vg.Point{X: a.toX(pt.X), Y: a.toY(pt.Y)}
	}
	return out
}

func (a place) steps() []vg.Point {
	var out []vg.Point
	for i, at := range a.path() {
		if i > 0 {
			out = append(out, vg.Point{X: at.X, Y: out[len(out)-1].Y})
		}
		out = append(out, at)
	}
	return out
}

// intervals are pale bars along a row, and whiskers across curves.
func (a place) intervals(c draw.Canvas) {
	for _, pt := range a.s.Points {
		if a.Y.Scale == Rows {
			if from, to := a.toX(pt.Lo), a.toX(pt.Hi); to-from > 1 {
				y := a.toY(pt.Y)
				box(&c, faded(a.look.color, 0.42), from, y-2.5, to, y+2.5)
			}
			continue
		}
		x, lo, hi := a.toX(pt.X), a.toY(pt.Lo), a.toY(pt.Hi)
		if hi-lo > 1 {
			line := draw.LineStyle{Color: a.look.color.light, Width: 0.9}
			c.StrokeLine2(line, x, lo, x, hi)
			c.StrokeLine2(line, x-2.5, lo, x+2.5, lo)
			c.StrokeLine2(line, x-2.5, hi, x+2.5, hi)
		}
	}
}

// markers have a rim in the colour of the paper, so that they stay apart where they overlap.
func (a place) markers(c draw.Canvas) {
	rim := a.look.glyph
	rim.Color, rim.Radius = paper.light, rim.Radius+1.2
	for i, at := range a.path() {
		if a.drawing.Y.Scale == Rows {
			c.DrawGlyphNoClip(rim, at)
		}
		c.DrawGlyphNoClip(a.look.glyph, at)
		if pt := a.s.Points[i]; a.Labeled && pt.Note != "" {
			a.label(c, at, pt)
		}
	}
}

// label writes a note at the right edge: next to its row, or on the line of the row's name.
func (a place) label(c draw.Canvas, at vg.Point, pt Point) {
	style := textStyle(faint, labelSize, false)
	shown := fit(style, pt.Note, a.notes)
	if a.above {
		style.XAlign, style.YAlign = text.XRight, text.YBottom
		c.FillText(style, vg.Point{X: c.Max.X, Y: a.toY(math.Round(pt.Y)) + nameLift}, shown)
		return
	}
	style.YAlign = text.YCenter
	c.FillText(style, vg.Point{X: c.Max.X + 12, Y: at.Y + textLift}, shown)
}

func (a place) spans(c draw.Canvas) {
	half := vg.Length(4)
	if a.drawing.Y.Scale == Rows {
		half = max(min((a.toY(0)-a.toY(1))*0.3, 9), 1.5)
	}
	for _, pt := range a.s.Points {
		y := a.toY(pt.Y)
		from, to := a.toX(pt.X), a.toX(pt.To)
		box(&c, a.look.color.light, from, y-half, max(to, from+0.6), y+half)
	}
}

func (a place) cells(c draw.Canvas) {
	for _, pt := range a.s.Points {
		if shade := shadeOf(pt); shade > 0 {
			box(&c, faded(heat, 0.12+0.88*shade), a.toX(pt.X), a.toY(pt.Y), a.toX(pt.To), a.toY(pt.Top))
		}
	}
}

func (a place) fill(c draw.Canvas) {
	var path vg.Path
	for i, pt := range a.s.Points {
		at := vg.Point{X: a.toX(pt.X), Y: a.toY(pt.Hi)}
		if i == 0 {
			path.Move(at)
		} else {
			path.Line(at)
		}
	}
	for i := len(a.s.Points) - 1; i >= 0; i-- {
		pt := a.s.Points[i]
		path.Line(vg.Point{X: a.toX(pt.X), Y: a.toY(pt.Lo)})
	}
	path.Close()
	c.SetColor(faded(a.look.color, 0.22))
	c.Fill(path)
}

func box(c *draw.Canvas, fill color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(fill)
	c.Fill(vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}.Path())
}
