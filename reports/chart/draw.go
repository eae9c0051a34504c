package chart

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"pulley/reports/units"
)

// The widths of a drawing. A page shows the wide one where it has room, else the narrow one.
const (
	pictureWidth vg.Length = 640
	wideWidth    vg.Length = 640
	narrowWidth  vg.Length = 330
)

const (
	margin      vg.Length = 10
	titleSize   vg.Length = 14
	labelSize   vg.Length = 11
	nameSize    vg.Length = 12
	legendRow   vg.Length = 17
	legendLine  vg.Length = 24
	legendGap   vg.Length = 14
	rowHeight   vg.Length = 34
	narrowRow   vg.Length = 58 // its name stands above it
	nameLift    vg.Length = 17 // of a name above its row, from the middle of the row
	axisRoom    vg.Length = 44
	textLift    vg.Length = 1.2 // corrects the library's vertical centring
	pictureDPI            = 192
	ruleRoom    vg.Length = 15  // for the names of upright rules, above the data
	aboveRoom   vg.Length = 18  // of a plot without names on its left: half a label of the axis
	nameShare             = 0.3 // at most this share of the width is for the names of rows
	notesShare            = 0.5 // and this for notes
	markersMost           = 24  // a line of more points has no markers
)

// Write draws the plot as "svg" or "png", self-contained, in light colours on white.
func (p *Plot) Write(w io.Writer, format string) error {
	d := newDrawing(p, pictureWidth, true)
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(d.width, d.height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(d.width, d.height), vgimg.UseDPI(pictureDPI))}
	default:
		return fmt.Errorf("draw chart %s: format %q is not known: use svg or png", p.Name, format)
	}
	d.draw(draw.New(canvas))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("draw chart %s: %w", p.Name, err)
	}
	return nil
}

// drawing is a plot at a width.
type drawing struct {
	*Plot
	series        []Series
	x, y          [2]float64
	width, height vg.Length
	// alone: with title and legend, as the page has them next to the drawing
	alone bool
	// names of rows are above them
	above bool
	// room for names next to the rows, and for notes, which have a column of their own
	names, notes vg.Length
	// where the data are, after draw
	area vg.Rectangle
}

func newDrawing(p *Plot, width vg.Length, alone bool) *drawing {
	p = p.bounded()
	d := &drawing{Plot: p, series: p.Series, width: width, alone: alone}
	d.x, d.y = p.limits(d.series)
	switch rows := len(p.Y.Names); {
	case p.Y.Scale != Rows:
		d.height = max(min(width*0.52, 340), 230)
		if p.Low {
			d.height *= 0.62
		}
	case width < 480:
		d.above = true
		d.height = vg.Length(rows)*narrowRow + axisRoom
	default:
		d.height = vg.Length(rows)*rowHeight + axisRoom
		if rows > 30 {
			d.height = vg.Length(rows)*18 + axisRoom
		}
	}
	if p.Y.Scale == Rows && !d.above {
		style := textStyle(ink, nameSize, false)
		for _, name := range p.Y.Names {
			d.names = max(d.names, style.Width(units.Clip(units.Printable(name), 60)))
		}
		d.names = min(d.names, nameShare*width) + 10
	}
	d.notes = d.notesWidth()
	if d.hasRuleNames() {
		d.height += ruleRoom
	}
	if alone {
		d.height += 2*margin + titleSize*1.6 + d.legend(nil) + 6
	}
	return d
}

func (d *drawing) hasRuleNames() bool {
	return slices.ContainsFunc(d.Rules, func(r Rule) bool { return r.Upright && r.Name != "" })
}

// notesWidth is that of a labeled plot's longest note, within a share of the drawing.
func (d *drawing) notesWidth() vg.Length {
	if !d.Labeled {
		return 0
	}
	style := textStyle(faint, labelSize, false)
	var longest vg.Length
	for _, s := range d.series {
		for _, pt := range s.Points {
			longest = max(longest, style.Width(units.Clip(units.Printable(pt.Note), 60)))
		}
	}
	if longest == 0 {
		return 0
	}
	return min(longest, notesShare*d.width) + 12
}

func (d *drawing) draw(dc draw.Canvas) {
	if d.alone {
		dc.SetColor(paper.light)
		dc.Fill(dc.Rectangle.Path())
		dc = draw.Crop(dc, margin, -margin, margin, -margin)
		title := textStyle(ink, titleSize, true)
		title.YAlign = text.YTop
		dc.FillText(title, dc.Min.Add(vg.Point{Y: dc.Size().Y}), fit(title, d.Title, dc.Size().X))
		dc.Max.Y -= titleSize * 1.6
		dc.Max.Y -= d.legend(&dc) + 6
	}
	label := textStyle(faint, labelSize, false)
	label.XAlign, label.YAlign = text.XCenter, text.YCenter
	if len(d.series) == 0 {
		dc.FillText(label, dc.Center(), "nothing was measured that could be drawn here")
		return
	}
	area := dc
	if d.X.Label != "" {
		area.Min.Y += labelSize*1.5 + 3
	}
	area.Min.X += d.names
	if d.hasRuleNames() {
		area.Max.Y -= ruleRoom
	}
	if d.above {
		area.Min.X += aboveRoom
	} else {
		area.Max.X -= d.notes
	}
	if d.Y.Label != "" && d.Y.Scale != Rows {
		area.Min.X += labelSize * 1.6
		upright := label
		upright.Rotation = math.Pi / 2
		dc.FillText(upright, vg.Point{X: dc.Min.X + labelSize*0.6, Y: area.Center().Y}, fit(label, d.Y.Label, area.Size().Y))
	}
	p := d.axes()
	p.Draw(area)
	data := p.DataCanvas(area)
	d.area = data.Rectangle
	if d.X.Label != "" {
		label.YAlign = text.YBottom
		dc.FillText(label, vg.Point{X: data.Center().X, Y: dc.Min.Y + 3}, fit(label, d.X.Label, dc.Size().X))
	}
	if d.Y.Scale == Rows {
		d.drawNames(dc, data, p)
	}
}

func (d *drawing) axes() *plot.Plot {
	p := newPlot()
	p.X.Min, p.X.Max = d.x[0], d.x[1]
	p.Y.Min, p.Y.Max = d.y[0], d.y[1]
	across, up := max(3, int(d.width/90)), max(3, int(d.height/46))
	p.X.Tick.Marker = d.X.marker(across)
	p.Y.Tick.Marker = d.Y.marker(min(up, 8))
	if d.X.Scale == Log {
		p.X.Scale = plot.LogScale{}
	}
	switch d.Y.Scale {
	case Log:
		p.Y.Scale = plot.LogScale{}
	case Rows:
		p.HideY()
		p.Y.Padding = 0
	}
	p.Add(marks{d})
	return p
}

func (a *Axis) marker(labels int) plot.Ticker {
	switch a.Scale {
	case Log:
		return logTicker{a.Unit.Tick, max(labels, 5)}
	case Rows:
		return noTicks{}
	}
	return evenTicker{a.Unit.Tick, labels}
}

func (d *drawing) drawNames(dc draw.Canvas, data draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&data)
	style := textStyle(ink, nameSize, false)
	for i, name := range d.Y.Names {
		at := vg.Point{X: data.Min.X - 8, Y: toY(d.rowY(float64(i)))}
		if d.above {
			style.XAlign, style.YAlign = text.XLeft, text.YBottom
			at = vg.Point{X: dc.Min.X + 2, Y: at.Y + nameLift}
			dc.FillText(style, at, fit(style, name, dc.Size().X-4-d.notes))
			continue
		}
		style.XAlign, style.YAlign = text.XRight, text.YCenter
		at.Y += textLift
		dc.FillText(style, at, fit(style, name, d.names-10))
	}
}

// rowY counts rows from the top.
func (d *drawing) rowY(i float64) float64 {
	if d.Y.Scale != Rows {
		return i
	}
	return float64(len(d.Y.Names)-1) - i
}

// legend draws as many rows as needed, and returns their height. It draws nothing on nil.
func (d *drawing) legend(dc *draw.Canvas) vg.Length {
	entries := d.legendEntries()
	if len(entries) == 0 {
		return 0
	}
	style := textStyle(ink, labelSize, false)
	style.YAlign = text.YCenter
	width := d.width - 2*margin
	var x vg.Length
	rows := 1
	for _, e := range entries {
		name := fit(style, e.name, width-legendLine-4)
		w := legendLine + 4 + style.Width(name)
		if x > 0 && x+w > width {
			x, rows = 0, rows+1
		}
		if dc != nil {
			at := vg.Point{X: dc.Min.X + x, Y: dc.Max.Y - legendRow*(vg.Length(rows)-0.5)}
			e.draw(dc, at)
			dc.FillText(style, at.Add(vg.Point{X: legendLine + 4, Y: textLift}), name)
		}
		x += w + legendGap
	}
	return vg.Length(rows) * legendRow
}

type legendEntry struct {
	name string
	draw func(c *draw.Canvas, at vg.Point)
}

func (d *drawing) legendEntries() []legendEntry {
	var out []legendEntry
	seen := map[string]bool{}
	for _, s := range d.series {
		if s.Name == "" || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		out = append(out, legendEntry{s.Name, s.sample})
	}
	for _, b := range d.Bands {
		if b.Name == "" || seen[b.Name] {
			continue
		}
		seen[b.Name] = true
		fill := b.color()
		out = append(out, legendEntry{b.Name, func(c *draw.Canvas, at vg.Point) { box(c, fill.light, at.X+6, at.Y-5, at.X+18, at.Y+5) }})
	}
	return out
}

// sample draws the series' line and marker, legendLine wide.
func (s *Series) sample(c *draw.Canvas, at vg.Point) {
	look := s.look()
	middle := vg.Point{X: at.X + legendLine/2, Y: at.Y}
	switch s.Kind {
	case Ticks:
		c.StrokeLine2(look.line, middle.X, at.Y-6, middle.X, at.Y+6)
	case Spans, Cells:
		box(c, look.color.light, at.X+6, at.Y-5, at.X+18, at.Y+5)
	case Area:
		box(c, faded(look.color, 0.25), at.X+6, at.Y-5, at.X+18, at.Y+5)
	case Dots:
		c.DrawGlyphNoClip(look.glyph, middle)
	default:
		c.StrokeLine2(look.line, at.X, at.Y, at.X+legendLine, at.Y)
		if s.Kind == Lines && len(s.Points) <= markersMost {
			c.DrawGlyphNoClip(look.glyph, middle)
		}
	}
}

// textMost bounds a text of a drawing, in runes: longer ones never fit, and measuring is slow.
const textMost = 300

func fit(style text.Style, s string, width vg.Length) string {
	s = clean(s)
	if style.Width(s) <= width {
		return s
	}
	n := sort.Search(utf8.RuneCountInString(s), func(n int) bool { return style.Width(units.Clip(s, n+1)) > width })
	return units.Clip(s, max(n, 1))
}
