package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// role is the purpose of a colour. A picture uses the light colour. On a page each role is a CSS variable, so that a drawing
// follows the reader's choice of light or dark.
type role struct {
	name        string
	light, dark color.RGBA
}

// The palette of series is Okabe and Ito's, distinguishable with the common kinds of colour blindness, darkened or lightened so
// that text in it has a contrast of 4.5 : 1 with the background. Series also differ by marker and dash.
var (
	paper = role{"card", rgb(0xffffff), rgb(0x161c24)}
	ink   = role{"ink", rgb(0x16202c), rgb(0xe8edf3)}
	faint = role{"faint", rgb(0x55616e), rgb(0xa3afbc)}
	grid  = role{"grid", rgb(0xe1e6ec), rgb(0x2c3541)}
	band  = role{"band", rgb(0xf3d9a4), rgb(0x5a4a20)}
	heat  = role{"heat", rgb(0x0a67a6), rgb(0x5db4ef)}

	seriesColors = []role{
		{"s0", rgb(0x0067a8), rgb(0x57b1ee)}, // blue
		{"s1", rgb(0x00785a), rgb(0x35c39b)}, // bluish green
		{"s2", rgb(0xc04b00), rgb(0xff8f45)}, // vermilion
		{"s3", rgb(0xa8487f), rgb(0xe79ec8)}, // reddish purple
		{"s4", rgb(0x8a5f00), rgb(0xe6b443)}, // orange, dark
		{"s5", rgb(0x4a55c7), rgb(0xa5adff)}, // indigo
		{"s6", rgb(0x5f6670), rgb(0xbcc3cc)}, // grey
		{"s7", rgb(0x9c2f2f), rgb(0xff9b9b)}, // red
	}

	seriesDashes = [][]vg.Length{nil, {7, 3}, {2, 2.5}, {8, 3, 2, 3}}
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

func roles() []role { return append([]role{paper, ink, faint, grid, band, heat}, seriesColors...) }

// Variables returns the CSS variables of all colours, for light or dark pages.
func Variables(dark bool) string {
	var b strings.Builder
	for _, r := range roles() {
		c := r.light
		if dark {
			c = r.dark
		}
		fmt.Fprintf(&b, "--%s:#%02x%02x%02x;", r.name, c.R, c.G, c.B)
	}
	return b.String()
}

// Classes returns the CSS rules of the classes that [Plot.Inline] uses.
func Classes() string {
	var b strings.Builder
	for _, r := range roles() {
		fmt.Fprintf(&b, ".f-%[1]s{fill:var(--%[1]s)}.l-%[1]s{stroke:var(--%[1]s);fill:none}\n", r.name)
	}
	return b.String()
}

// roleOf is ink for a colour of no role.
func roleOf(c color.Color) role {
	r, g, b, a := c.RGBA()
	if a == 0 {
		return ink
	}
	part := func(v uint32) uint8 { return uint8((v*0xff + a/2) / a) }
	for _, known := range roles() {
		if l := known.light; near(l.R, part(r)) && near(l.G, part(g)) && near(l.B, part(b)) {
			return known
		}
	}
	return ink
}

// near allows for the rounding of a colour that is multiplied by its opacity.
func near(a, b uint8) bool { return max(a, b)-min(a, b) <= 3 }

func faded(r role, opacity float64) color.Color {
	c := r.light
	return color.NRGBA{R: c.R, G: c.G, B: c.B, A: uint8(255 * opacity)}
}

const glyphRadius vg.Length = 4.2

type seriesStyle struct {
	color role
	line  draw.LineStyle
	glyph draw.GlyphStyle
}

// styleOf repeats after more series than anybody can distinguish.
func styleOf(i int) seriesStyle {
	i = mod(i, len(seriesColors)*len(seriesDashes))
	c := seriesColors[i%len(seriesColors)]
	glyphs := []draw.GlyphDrawer{
		draw.CircleGlyph{}, diamondGlyph{}, triangleGlyph{}, squareGlyph{}, downGlyph{}, thickRing{}, draw.CrossGlyph{}, draw.PlusGlyph{},
	}
	return seriesStyle{
		color: c,
		line:  draw.LineStyle{Color: c.light, Width: 1.6, Dashes: seriesDashes[i%len(seriesDashes)]},
		glyph: draw.GlyphStyle{Color: c.light, Radius: glyphRadius, Shape: glyphs[i%len(glyphs)]},
	}
}

// neutralStyle is for bounds and published figures: grey rather than a colour, and dashed from the second on.
func neutralStyle(i int) seriesStyle {
	dashes := [][]vg.Length{nil, {3, 2.5}, {1.5, 2}, {6, 2}}
	return seriesStyle{
		color: faint,
		line:  draw.LineStyle{Color: faint.light, Width: 2, Dashes: dashes[mod(i, len(dashes))]},
		glyph: draw.GlyphStyle{Color: faint.light, Radius: 3.6, Shape: thickRing{}},
	}
}

func (s *Series) look() seriesStyle {
	if s.Neutral {
		return neutralStyle(s.Style)
	}
	return styleOf(s.Style)
}

// The library's filled glyphs differ in visual size at the same radius; these do not.
type (
	squareGlyph   struct{}
	triangleGlyph struct{}
	diamondGlyph  struct{}
	thickRing     struct{}
	downGlyph     struct{}
)

func (squareGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 0.9 * s.Radius
	polygon(c, at, [][2]vg.Length{{-r, -r}, {r, -r}, {r, r}, {-r, r}})
}

func (triangleGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 1.2 * s.Radius
	polygon(c, at, [][2]vg.Length{{0, r}, {-0.95 * r, -0.7 * r}, {0.95 * r, -0.7 * r}})
}

func (diamondGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 1.25 * s.Radius
	polygon(c, at, [][2]vg.Length{{0, r}, {-r, 0}, {0, -r}, {r, 0}})
}

func (thickRing) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1.4})
	var p vg.Path
	p.Move(vg.Point{X: at.X + s.Radius, Y: at.Y})
	p.Arc(at, s.Radius, 0, 2*math.Pi)
	p.Close()
	c.SetColor(paper.light) // hides the line
	c.Fill(p)
	c.SetColor(s.Color)
	c.Stroke(p)
}

func (downGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 1.2 * s.Radius
	polygon(c, at, [][2]vg.Length{{0, -r}, {-0.95 * r, 0.7 * r}, {0.95 * r, 0.7 * r}})
}

func polygon(c *draw.Canvas, at vg.Point, corners [][2]vg.Length) {
	var p vg.Path
	for i, corner := range corners {
		point := vg.Point{X: at.X + corner[0], Y: at.Y + corner[1]}
		if i == 0 {
			p.Move(point)
		} else {
			p.Line(point)
		}
	}
	p.Close()
	c.Fill(p)
}

// sans is metric-compatible with Arial, so that a page without it keeps its layout.
func sans(size vg.Length, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

func textStyle(c role, size vg.Length, bold bool) text.Style {
	return text.Style{Color: c.light, Font: sans(size, bold), Handler: plot.DefaultTextHandler}
}

// newPlot's axes have no labels: the library would reserve room as for a linear axis. Chart.draw writes them.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color = faint.light
		a.Width = 0.8
		a.Padding = 4
		a.Tick.Label.Color = ink.light
		a.Tick.Label.Font = sans(labelSize, false)
		a.Tick.Color = faint.light
		a.Tick.Width = 0.6
		a.Tick.Length = 4
	}
	return p
}
