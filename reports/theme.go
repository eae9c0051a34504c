package reports

import (
	"fmt"
	"image/color"
	"math"
	"regexp"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// role is the purpose of a colour. A picture uses the light colour. On the page each role is a CSS variable, so that a drawing
// follows the reader's choice of light or dark.
type role struct {
	variable    string
	light, dark color.RGBA
}

// The palette is Okabe and Ito's, distinguishable with the common kinds of colour blindness, darkened or lightened to contrast
// with the background. Series also differ by marker and dash.
var (
	paper = role{"--card", rgb(0xffffff), rgb(0x1b2029)}
	ink   = role{"--ink", rgb(0x1c2430), rgb(0xe6e9ee)}
	faint = role{"--faint", rgb(0x5b6675), rgb(0xa3adba)}
	grid  = role{"--grid", rgb(0xe3e7ec), rgb(0x323a46)}

	seriesColors = []role{
		{"--s0", rgb(0x0072b2), rgb(0x56b4e9)}, // blue
		{"--s1", rgb(0xd55e00), rgb(0xff8f45)}, // vermilion
		{"--s2", rgb(0x00875f), rgb(0x2fd0a0)}, // bluish green
		{"--s3", rgb(0xa8507f), rgb(0xe79ec8)}, // reddish purple
		{"--s4", rgb(0x9a6a00), rgb(0xf0b942)}, // orange, dark
		{"--s5", rgb(0x4a55c7), rgb(0xa5adff)}, // indigo
		{"--s6", rgb(0x5f6670), rgb(0xbcc3cc)}, // grey
	}

	seriesDashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

func roles() []role { return append([]role{paper, ink, faint, grid}, seriesColors...) }

func hexOf(c color.RGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

func cssVariables(dark bool) string {
	var b strings.Builder
	for _, r := range roles() {
		c := r.light
		if dark {
			c = r.dark
		}
		fmt.Fprintf(&b, "%s:%s;", r.variable, strings.ToLower(hexOf(c)))
	}
	return b.String()
}

var styledColor = regexp.MustCompile(`\b(fill|stroke):(#[0-9A-Fa-f]{6})`)

// useVariables replaces the light colours in a drawing by their variables. A mistaken hit in text is harmless: a name that
// looks like a style shows another word.
func useVariables(svg string) string {
	return styledColor.ReplaceAllStringFunc(svg, func(found string) string {
		property, hex, _ := strings.Cut(found, ":")
		for _, r := range roles() {
			if strings.EqualFold(hex, hexOf(r.light)) {
				return property + ":var(" + r.variable + ")"
			}
		}
		return found
	})
}

type seriesStyle struct {
	color role
	line  draw.LineStyle
	glyph draw.GlyphStyle
}

// styleOf repeats after more series than anybody can distinguish.
func styleOf(i int) seriesStyle {
	c := seriesColors[i%len(seriesColors)]
	glyphs := []draw.GlyphDrawer{
		draw.CircleGlyph{}, squareGlyph{}, triangleGlyph{}, diamondGlyph{}, thickRing{}, draw.CrossGlyph{}, draw.PlusGlyph{},
	}
	return seriesStyle{
		color: c,
		line:  draw.LineStyle{Color: c.light, Width: 1.6, Dashes: seriesDashes[i%len(seriesDashes)]},
		glyph: draw.GlyphStyle{Color: c.light, Radius: 3.6, Shape: glyphs[i%len(glyphs)]},
	}
}

// claimedStyle is for published figures: ink rather than a colour, dashed.
func claimedStyle() seriesStyle {
	return seriesStyle{
		color: faint,
		line:  draw.LineStyle{Color: faint.light, Width: 1.4, Dashes: []vg.Length{4, 3}},
		glyph: draw.GlyphStyle{Color: faint.light, Radius: 3.2, Shape: thickRing{}},
	}
}

// The library's filled glyphs differ in visual size at the same radius; these do not.
type (
	squareGlyph   struct{}
	triangleGlyph struct{}
	diamondGlyph  struct{}
	thickRing     struct{}
	barGlyph      struct{}
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

func (barGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1.8})
	var p vg.Path
	p.Move(vg.Point{X: at.X, Y: at.Y - s.Radius})
	p.Line(vg.Point{X: at.X, Y: at.Y + s.Radius})
	c.Stroke(p)
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
