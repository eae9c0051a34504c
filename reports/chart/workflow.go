package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"pulley/reports/diagram"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Workflow draws the outline of a workflow: boxes are actions, those with a double rim wait for several others, and a stack is many
// that are alike, with their number. Round ones are where an instance begins, ends, or takes one of several ways.
type Workflow struct {
	// Name is fit for a file name. Title is above the drawing, Says what one sees.
	Name, Title, Says string
	Graph             *record.Graph
}

const (
	flowText   vg.Length = 11
	flowHeight vg.Length = 26
	flowPad    vg.Length = 9
	flowLayers           = 30
	flowNodes            = 16
	flowStack  vg.Length = 3 // how far the sheets of a stack stand out
	flowLabel            = 28
	arrowSize  vg.Length = 5
)

// flow is a workflow that is laid out.
type flow struct {
	graph         record.Graph
	layout        diagram.Layout
	labels        []string
	width, height vg.Length
}

// Write draws it as "svg" or "png", self-contained, in light colours on white.
func (w *Workflow) Write(out io.Writer, format string) error {
	f := w.lay()
	title := textStyle(ink, titleSize, true)
	title.YAlign = text.YTop
	width, height := max(f.width, title.Width(plain(w.Title, 80)))+2*margin, f.height+titleSize*2+2*margin
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(width, height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI))}
	default:
		return fmt.Errorf("draw workflow %s: format %q is not known: use svg or png", w.Name, format)
	}
	dc := draw.New(canvas)
	dc.SetColor(paper.light)
	dc.Fill(dc.Rectangle.Path())
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	dc.FillText(title, vg.Point{X: dc.Min.X, Y: dc.Max.Y}, plain(w.Title, 80))
	dc.Max.Y -= titleSize * 2
	f.draw(dc)
	if _, err := canvas.WriteTo(out); err != nil {
		return fmt.Errorf("draw workflow %s: %w", w.Name, err)
	}
	return nil
}

// Inline returns it as an SVG element whose colours are those of the page.
func (w *Workflow) Inline() string {
	f := w.lay()
	canvas := &inlineCanvas{height: f.height, state: inlineState{matrix: identity}}
	f.draw(draw.NewCanvas(canvas, f.width, f.height))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="workflow" viewBox="0 0 %[1]s %[2]s" width="%[1]s" height="%[2]s" font-family="Liberation Sans, Arial, Helvetica, sans-serif" role="img" aria-label="%[3]s">`,
		short(float64(f.width)), short(float64(f.height)), html.EscapeString(plain(strings.TrimSpace(w.Title+". "+w.Says), saysMost)))
	return b.String() + canvas.b.String() + "</svg>"
}

// lay chooses the direction in which the drawing fits the width of a page.
func (w *Workflow) lay() *flow {
	f := &flow{}
	if w.Graph != nil {
		f.graph.Nodes = w.Graph.Nodes[:min(len(w.Graph.Nodes), diagram.NodesMost)]
		f.graph.Edges = w.Graph.Edges[:min(len(w.Graph.Edges), diagram.EdgesMost)]
	}
	style := textStyle(ink, flowText, false)
	var g diagram.Graph
	for i := range f.graph.Nodes {
		label := flowName(&f.graph.Nodes[i])
		f.labels = append(f.labels, label)
		g.Sizes = append(g.Sizes, diagram.Size{W: float64(style.Width(label) + 2*flowPad), H: float64(flowHeight)})
	}
	for _, e := range f.graph.Edges {
		g.Edges = append(g.Edges, diagram.Edge{From: e.From, To: e.To})
	}
	f.layout = diagram.Lay(g, diagram.Options{Across: true, Layers: flowLayers, Nodes: flowNodes})
	if f.layout.W > float64(wideWidth) {
		f.layout = diagram.Lay(g, diagram.Options{Layers: flowLayers, Nodes: flowNodes})
	}
	f.width, f.height = vg.Length(f.layout.W)+4*flowStack+flowNodes, vg.Length(f.layout.H)+4*flowStack+flowNodes/2
	return f
}

// flowName is a node's name, and how many runs it stands for, or nodes if runs are not known.
func flowName(n *record.GraphNode) string {
	name := units.Clip(units.Printable(n.Name), flowLabel)
	if name == "" {
		name = units.Clip(units.Printable(n.Kind), flowLabel)
	}
	if count := max(n.Runs, n.Nodes); count > 1 {
		name += " ×" + units.Thousands(int64(count))
	}
	return name
}

func (f *flow) draw(dc draw.Canvas) {
	at := func(p diagram.Point) vg.Point {
		return vg.Point{X: dc.Min.X + 2*flowStack + vg.Length(p.X), Y: dc.Max.Y - 2*flowStack - vg.Length(p.Y)}
	}
	for i, line := range f.layout.Lines {
		f.edge(dc, f.graph.Edges[i].Kind, line, at)
	}
	for i, b := range f.layout.Boxes {
		f.node(dc, i, at(diagram.Point{X: b.X, Y: b.Y}), vg.Length(b.W)/2, vg.Length(b.H)/2)
	}
}

func (f *flow) edge(dc draw.Canvas, kind string, line []diagram.Point, at func(diagram.Point) vg.Point) {
	if len(line) < 2 {
		return
	}
	style := draw.LineStyle{Color: faint.light, Width: 1.1}
	switch kind {
	case record.EdgeBack:
		style.Dashes = []vg.Length{4, 3}
	case record.EdgeException:
		style.Color, style.Dashes = seriesColors[7].light, []vg.Length{2, 2.5}
	}
	points := make([]vg.Point, len(line))
	for i, p := range line {
		points[i] = at(p)
	}
	dc.StrokeLines(style, points)
	end, before := points[len(points)-1], points[len(points)-2]
	dx, dy := float64(end.X-before.X), float64(end.Y-before.Y)
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	ux, uy := vg.Length(dx/length), vg.Length(dy/length)
	dc.SetColor(style.Color)
	polygon(&dc, end, [][2]vg.Length{{0, 0}, {-arrowSize*ux - arrowSize*uy/2, -arrowSize*uy + arrowSize*ux/2}, {-arrowSize*ux + arrowSize*uy/2, -arrowSize*uy - arrowSize*ux/2}})
}

func (f *flow) node(dc draw.Canvas, i int, middle vg.Point, w, h vg.Length) {
	n := &f.graph.Nodes[i]
	color := seriesColors[0]
	round := vg.Length(0)
	if n.Kind != "action" {
		color = faint
	}
	if n.Kind != "action" && !n.Waits {
		round = h
	}
	rim := draw.LineStyle{Color: color.light, Width: 1.3}
	sheets := 0
	if max(n.Runs, n.Nodes) > 1 && n.Kind == "action" {
		sheets = 2
	}
	for s := sheets; s >= 0; s-- { // to the right and down: edges come from the left or from above
		shift := flowStack * vg.Length(s)
		outline := rounded(vg.Point{X: middle.X + shift, Y: middle.Y - shift}, w, h, round)
		dc.SetColor(paper.light)
		dc.Fill(outline)
		dc.SetColor(faded(color, 0.12))
		dc.Fill(outline)
		dc.SetLineStyle(rim)
		dc.Stroke(outline)
	}
	if n.Waits {
		dc.SetLineStyle(draw.LineStyle{Color: color.light, Width: 0.8})
		dc.Stroke(rounded(middle, w-3, h-3, max(round-3, 0)))
	}
	style := textStyle(ink, flowText, false)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	dc.FillText(style, vg.Point{X: middle.X, Y: middle.Y + textLift}, f.labels[i])
}

// rounded is a box of half the width and height, whose corners have that radius.
func rounded(middle vg.Point, w, h, r vg.Length) vg.Path {
	r = min(r, w, h)
	var p vg.Path
	p.Move(vg.Point{X: middle.X - w + r, Y: middle.Y - h})
	corner := func(x, y vg.Length, from float64) {
		p.Line(vg.Point{X: middle.X + x + r*vg.Length(math.Cos(from)), Y: middle.Y + y + r*vg.Length(math.Sin(from))})
		if r > 0 {
			p.Arc(vg.Point{X: middle.X + x, Y: middle.Y + y}, r, from, math.Pi/2)
		}
	}
	corner(w-r, r-h, -math.Pi/2)
	corner(w-r, h-r, 0)
	corner(r-w, h-r, math.Pi/2)
	corner(r-w, r-h, math.Pi)
	p.Close()
	return p
}
