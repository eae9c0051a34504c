package chart

import (
	"encoding/json"
	"fmt"
	"html"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Inline is a plot as elements of a page: its colours are classes, and it has no title and no legend. Wide and Narrow are SVG
// elements of which a page shows one.
type Inline struct {
	Wide, Narrow string
	// Legend has the samples of the series, in order; entry i is of the group whose data-series is i.
	Legend []LegendSample
}

// LegendSample is an entry of a legend: an SVG element of 24 by 14, and its name.
type LegendSample struct{ Name, SVG string }

// Inline draws the plot for a page.
func (p *Plot) Inline() Inline {
	p = p.bounded()
	return Inline{Wide: p.inline(wideWidth), Narrow: p.inline(narrowWidth), Legend: p.samples()}
}

func (p *Plot) inline(width vg.Length) string {
	d := newDrawing(p, width, false)
	canvas := &inlineCanvas{height: d.height, state: inlineState{matrix: identity}}
	d.draw(draw.NewCanvas(canvas, d.width, d.height))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %s %s" role="img" aria-label="%s" data-frame="%s">`, short(float64(d.width)), short(float64(d.height)),
		html.EscapeString(d.description()), html.EscapeString(d.frame()))
	b.WriteString(canvas.b.String())
	b.WriteString("</svg>")
	return b.String()
}

// description says what the plot shows, or, without that, what it is.
func (p *Plot) description() string {
	if p.Says != "" {
		return p.Title + ". " + p.Says
	}
	return p.Title
}

// frame says where the data are and what the axes span, so that a script finds a point under the pointer: a JSON object.
func (d *drawing) frame() string {
	text, err := json.Marshal(map[string]any{
		"left": round2(d.area.Min.X), "right": round2(d.area.Max.X), "top": round2(d.height - d.area.Max.Y), "bottom": round2(d.height - d.area.Min.Y),
		"x": d.x, "y": d.y,
	})
	if err != nil { // an infinite limit, which limits excludes
		return "{}"
	}
	return string(text)
}

func round2(v vg.Length) float64 { return math.Round(float64(v)*100) / 100 }

func (p *Plot) samples() []LegendSample {
	d := newDrawing(p, wideWidth, false)
	var out []LegendSample
	for _, e := range d.legendEntries() {
		canvas := &inlineCanvas{height: 14, state: inlineState{matrix: identity}}
		c := draw.NewCanvas(canvas, legendLine, 14)
		e.draw(&c, vg.Point{X: 0, Y: 7})
		out = append(out, LegendSample{e.name, `<svg viewBox="0 0 24 14" width="24" height="14" aria-hidden="true">` + canvas.b.String() + `</svg>`})
	}
	return out
}

// inlineCanvas writes SVG elements whose colours are classes. It implements vg.Canvas and grouper.
type inlineCanvas struct {
	b      strings.Builder
	height vg.Length
	state  inlineState
	stack  []inlineState
}

type inlineState struct {
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	matrix matrix
}

// matrix maps a point to x·a + y·c + e, x·b + y·d + f.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1], m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5],
	}
}

// at returns where a point is on the page, whose y axis points down.
func (c *inlineCanvas) at(p vg.Point) (x, y float64) {
	m, px, py := c.state.matrix, float64(p.X), float64(p.Y)
	return px*m[0] + py*m[2] + m[4], float64(c.height) - (px*m[1] + py*m[3] + m[5])
}

func (c *inlineCanvas) beginGroup(series int) {
	fmt.Fprintf(&c.b, `<g class="series" data-series="%d">`, series)
}

func (c *inlineCanvas) endGroup() { c.b.WriteString("</g>") }

func (c *inlineCanvas) SetLineWidth(w vg.Length) { c.state.width = w }

func (c *inlineCanvas) SetLineDash(pattern []vg.Length, _ vg.Length) { c.state.dashes = pattern }

func (c *inlineCanvas) SetColor(col color.Color) { c.state.color = col }

func (c *inlineCanvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.state.matrix = c.state.matrix.times(matrix{cos, sin, -sin, cos, 0, 0})
}

func (c *inlineCanvas) Translate(p vg.Point) {
	c.state.matrix = c.state.matrix.times(matrix{1, 0, 0, 1, float64(p.X), float64(p.Y)})
}

func (c *inlineCanvas) Scale(x, y float64) {
	c.state.matrix = c.state.matrix.times(matrix{x, 0, 0, y, 0, 0})
}

func (c *inlineCanvas) Push() { c.stack = append(c.stack, c.state) }

func (c *inlineCanvas) Pop() {
	c.state = c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
}

func (c *inlineCanvas) Stroke(p vg.Path) {
	if c.state.width <= 0 || len(p) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<path class="l-%s" stroke-width="%s"`, c.role().name, short(float64(c.state.width)))
	if len(c.state.dashes) > 0 {
		parts := make([]string, len(c.state.dashes))
		for i, d := range c.state.dashes {
			parts[i] = short(float64(d))
		}
		fmt.Fprintf(&c.b, ` stroke-dasharray="%s"`, strings.Join(parts, " "))
	}
	c.opacity("stroke-opacity")
	fmt.Fprintf(&c.b, ` d="%s"/>`, c.path(p))
}

func (c *inlineCanvas) Fill(p vg.Path) {
	if len(p) == 0 {
		return
	}
	fmt.Fprintf(&c.b, `<path class="f-%s"`, c.role().name)
	c.opacity("fill-opacity")
	fmt.Fprintf(&c.b, ` d="%s"/>`, c.path(p))
}

func (c *inlineCanvas) role() role {
	if c.state.color == nil {
		return ink
	}
	return roleOf(c.state.color)
}

func (c *inlineCanvas) opacity(attribute string) {
	if c.state.color == nil {
		return
	}
	if _, _, _, a := c.state.color.RGBA(); a < 0xffff {
		fmt.Fprintf(&c.b, ` %s="%s"`, attribute, short(float64(a)/0xffff))
	}
}

func (c *inlineCanvas) path(p vg.Path) string {
	var b strings.Builder
	for i, part := range p {
		x, y := c.at(part.Pos)
		switch part.Type {
		case vg.MoveComp:
			fmt.Fprintf(&b, "M%s %s", short(x), short(y))
		case vg.LineComp:
			fmt.Fprintf(&b, "L%s %s", short(x), short(y))
		case vg.ArcComp:
			c.arc(&b, part, i == 0)
		case vg.CurveComp:
			for j, control := range part.Control {
				if j == 0 {
					b.WriteByte("QC"[len(part.Control)-1])
				}
				cx, cy := c.at(control)
				fmt.Fprintf(&b, "%s %s ", short(cx), short(cy))
			}
			fmt.Fprintf(&b, "%s %s", short(x), short(y))
		case vg.CloseComp:
			b.WriteByte('Z')
		}
	}
	return b.String()
}

// arc writes pieces of less than half a circle, which SVG's arcs describe without ambiguity.
func (c *inlineCanvas) arc(b *strings.Builder, part vg.PathComp, first bool) {
	on := func(angle float64) (string, string) {
		sin, cos := math.Sincos(angle)
		x, y := c.at(vg.Point{X: part.Pos.X + part.Radius*vg.Length(cos), Y: part.Pos.Y + part.Radius*vg.Length(sin)})
		return short(x), short(y)
	}
	x, y := on(part.Start)
	if first {
		fmt.Fprintf(b, "M%s %s", x, y)
	} else {
		fmt.Fprintf(b, "L%s %s", x, y)
	}
	pieces := int(math.Ceil(math.Abs(part.Angle) / 3))
	sweep := 0 // on a page, whose y axis points down, growing angles turn against the clock
	if part.Angle < 0 {
		sweep = 1
	}
	for i := 1; i <= pieces; i++ {
		x, y := on(part.Start + part.Angle*float64(i)/float64(pieces))
		fmt.Fprintf(b, "A%[1]s %[1]s 0 0 %d %s %s", short(float64(part.Radius)), sweep, x, y)
	}
}

// FillString writes text that the page sets in its own font, with the class of its size.
func (c *inlineCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size <= 0 || text == "" {
		return
	}
	x, y := c.at(at)
	fmt.Fprintf(&c.b, `<text class="f-%s" font-size="%s" x="%s" y="%s"`, c.role().name, short(float64(f.Font.Size)), short(x), short(y))
	if m := c.state.matrix; m[1] != 0 {
		fmt.Fprintf(&c.b, ` transform="rotate(%s %s %s)"`, short(-math.Atan2(m[1], m[0])*180/math.Pi), short(x), short(y))
	}
	fmt.Fprintf(&c.b, ">%s</text>", html.EscapeString(text))
}

func (c *inlineCanvas) DrawImage(vg.Rectangle, image.Image) {
	panic("chart: plots have no images")
}

// short has two decimals at most, and no trailing zeros.
func short(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" || text == "" {
		return "0"
	}
	return text
}
