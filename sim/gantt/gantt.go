package gantt

import (
	"fmt"
	"image/color"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"pulley/sim"
)

// Chart is a schedule to draw.
type Chart struct {
	Title   string
	Workers int // of all engines, at least 1
	Engine  int // workers of one engine; zero: all
	Result  *sim.Result
	Kind    func(*sim.Attempt) string // groups attempts by colour; nil: KindOf of the node's name
	Marks   []Mark
}

// Mark is a labelled moment, such as a bound of the makespan. Marks beyond the axis are not drawn.
type Mark struct {
	At   time.Duration
	Name string
}

// Dimensions of a drawing; lengths in points.
const (
	width, margin, gutter = 960, 16, 64
	titleSize, textSize   = 13, 10
	lanesMax              = 480
	laneMax               = 22
	curves                = 130
	dpi                   = 144

	// With more than these, colour shows how busy groups of workers are.
	singleWorkers, singleAttempts = 64, 3000

	kindsMax = 7 // with a colour of their own
)

// Okabe and Ito's colours, darkened; they stay distinct under the common kinds of colour blindness.
var (
	paper = rgb(0xffffff)
	ink   = rgb(0x1c2430)
	faint = rgb(0x5b6675)
	grid  = rgb(0xe3e7ec)
	kinds = [kindsMax]color.RGBA{
		rgb(0x0072b2), rgb(0xd55e00), rgb(0x00875f), rgb(0xa8507f), rgb(0x9a6a00), rgb(0x4a55c7), rgb(0x5f6670),
	}
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

// Write draws the chart as "svg" or "png".
func (c Chart) Write(w io.Writer, format string) error {
	if c.Workers < 1 || c.Result == nil || c.Result.Makespan <= 0 {
		return fmt.Errorf("draw the schedule: there are %d workers and no time that passes; nothing can be seen", c.Workers)
	}
	d := newDrawing(c)
	var canvas vg.CanvasWriterTo
	switch format {
	case "svg":
		canvas = vgsvg.New(width, d.height)
	case "png":
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, d.height), vgimg.UseDPI(dpi))}
	default:
		return fmt.Errorf("draw the schedule: format %q is not known: use svg or png", format)
	}
	d.Canvas = draw.New(canvas)
	d.draw()
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("draw the schedule: %w", err)
	}
	return nil
}

// drawing is a chart being drawn. Its y axis points down.
type drawing struct {
	Chart
	draw.Canvas
	height vg.Length
	end    time.Duration
	lane   vg.Length // height of a worker's lane
	lanes  vg.Length
	kinds  []string // of actions, in order of first appearance
	load   load
}

func newDrawing(c Chart) *drawing {
	if c.Kind == nil {
		c.Kind = func(a *sim.Attempt) string { return KindOf(a.Node) }
	}
	d := &drawing{Chart: c, end: c.Result.Makespan}
	for _, a := range c.Result.Schedule {
		d.end = max(d.end, a.End)
		if k := c.Kind(a); len(d.kinds) <= kindsMax && !slices.Contains(d.kinds, k) {
			d.kinds = append(d.kinds, k)
		}
	}
	d.lane = min(laneMax, lanesMax/vg.Length(c.Workers))
	d.lanes = d.lane * vg.Length(c.Workers)
	d.height = d.top() + d.lanes + 44 + curves + 40
	d.load = loadOf(c.Result.Schedule, d.end, c.place)
	return d
}

func (c Chart) place(a *sim.Attempt) int { return a.Engine*c.Engine + a.Worker }

// KindOf returns a name without its trailing number, and without _ID before that.
func KindOf(node string) string {
	k := strings.TrimRight(node, "0123456789")
	if k = strings.TrimRight(strings.TrimSuffix(k, "_ID"), "_"); k != "" {
		return k
	}
	return node
}

func (d *drawing) top() vg.Length { return margin + titleSize + 54 }

func (d *drawing) single() bool {
	return d.Workers <= singleWorkers && len(d.Result.Schedule) <= singleAttempts
}

func (d *drawing) draw() {
	d.rect(0, 0, width, d.height, paper)
	d.text(margin, margin, d.Title, titleSize, ink, text.XLeft, text.YTop)
	d.axis(d.top(), d.lanes)
	if d.single() {
		d.legend()
		d.bars()
	} else {
		d.text(margin, margin+titleSize+8, "the darker, the more of the workers at that height were busy", textSize, faint, text.XLeft, text.YTop)
		d.heat()
	}
	d.workers()
	d.marks()
	d.curves()
}

func (d *drawing) x(at time.Duration) vg.Length {
	return gutter + vg.Length(float64(width-gutter-margin)*float64(at)/float64(d.end))
}

func (d *drawing) rect(x, y, w, h vg.Length, c color.Color) {
	d.SetColor(c)
	y = d.height - y // a canvas has its zero at the bottom
	d.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y - h}, Max: vg.Point{X: x + w, Y: y}}.Path())
}

func (d *drawing) text(x, y vg.Length, s string, size vg.Length, c color.Color, across text.XAlignment, down text.YAlignment) {
	style := text.Style{
		Color: c, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: xfont.WeightNormal}, size),
		XAlign: across, YAlign: down, Handler: plot.DefaultTextHandler,
	}
	d.FillText(style, vg.Point{X: x, Y: d.height - y}, s)
}

func (d *drawing) line(x1, y1, x2, y2 vg.Length, c color.Color, dashes ...vg.Length) {
	d.StrokeLine2(draw.LineStyle{Color: c, Width: 0.8, Dashes: dashes}, x1, d.height-y1, x2, d.height-y2)
}

// color returns the colour of a kind; all further kinds share the last one.
func (d *drawing) color(kind string) color.RGBA {
	i := slices.Index(d.kinds, kind)
	if i < 0 || i >= kindsMax {
		i = kindsMax - 1
	}
	return kinds[i]
}

func (d *drawing) legend() {
	x, y := vg.Length(margin), vg.Length(margin+titleSize+8)
	for i, k := range d.kinds {
		if i == kindsMax-1 && len(d.kinds) > kindsMax {
			k = "others"
		}
		if i >= kindsMax {
			break
		}
		if runes := []rune(k); len(runes) > 20 {
			k = string(runes[:19]) + "…"
		}
		d.rect(x, y+1, 9, 9, kinds[i])
		d.text(x+13, y, k, textSize, faint, text.XLeft, text.YTop)
		x += 13 + vg.Length(6*len([]rune(k))) + 16
	}
}

// bars draws every attempt; those whose result was of no use are pale.
func (d *drawing) bars() {
	gap := min(1, d.lane/8)
	for _, a := range d.Result.Schedule {
		c := d.color(d.Kind(a))
		if a.Fate != sim.Applied {
			c = mix(c, paper, 0.6)
		}
		x := d.x(a.Start)
		d.rect(x, d.top()+d.lane*vg.Length(d.place(a))+gap, max(d.x(a.End)-x-0.3, 0.3), d.lane-2*gap, c)
	}
}

func (d *drawing) workers() {
	d.text(gutter-6, d.top()-14, "worker", textSize, faint, text.XRight, text.YTop)
	step := max(1, int(14/d.lane))
	for _, nice := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000} {
		if nice >= step {
			step = nice
			break
		}
	}
	for i := step; i <= d.Workers; i += step {
		d.text(gutter-6, d.top()+d.lane*(vg.Length(i)-0.5), strconv.Itoa(i), textSize, faint, text.XRight, text.YCenter)
	}
}

func (d *drawing) axis(top, height vg.Length) {
	step := roundStep(d.end)
	for at := time.Duration(0); at <= d.end; at += step {
		x := d.x(at)
		d.line(x, top, x, top+height, grid)
		d.text(x, top+height+4, short(at), textSize, faint, text.XCenter, text.YTop)
	}
}

// short formats a round duration without trailing zero units.
func short(d time.Duration) string {
	s := d.String()
	if d >= time.Minute {
		s = strings.TrimSuffix(s, "0s")
	}
	if d >= time.Hour {
		s = strings.TrimSuffix(s, "h0m") + map[bool]string{true: "h"}[strings.HasSuffix(s, "h0m")]
	}
	return s
}

// roundStep returns about an eighth of a duration: one, two or five of a decimal unit up to a minute, then of minutes, hours and
// days.
func roundStep(d time.Duration) time.Duration {
	for unit := time.Duration(1); unit < time.Minute; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if unit*n < time.Minute && d/(unit*n) <= 8 {
				return unit * n
			}
		}
	}
	for _, unit := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
		for _, n := range []time.Duration{1, 2, 5, 10, 20} {
			if d/(unit*n) <= 8 {
				return unit * n
			}
		}
	}
	return d/8 + 1
}

func (d *drawing) marks() {
	for i, m := range d.Marks {
		if m.At > d.end {
			continue
		}
		x := d.x(m.At)
		d.line(x, d.top()-4, x, d.top()+d.lanes, kinds[1], 4, 2)
		across := text.XRight
		if x < width/2 {
			across = text.XLeft
		}
		d.text(x, d.top()-6-vg.Length(11*(i%2)), m.Name, textSize, kinds[1], across, text.YBottom)
	}
}

func mix(a, b color.RGBA, part float64) color.RGBA {
	of := func(x, y uint8) uint8 { return uint8(float64(x)*(1-part) + float64(y)*part) }
	return color.RGBA{R: of(a.R, b.R), G: of(a.G, b.G), B: of(a.B, b.B), A: 0xff}
}
