package load_test

import (
	"flag"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// go test ./bench/load -run Plots -args -plots docs
var plots = flag.String("plots", "", "where TestPlots draws; empty: nowhere")

// These colours remain distinct under common colour blindness (Okabe and Ito).
var (
	blue   = color.RGBA{R: 0, G: 114, B: 178, A: 255}
	orange = color.RGBA{R: 213, G: 94, B: 0, A: 255}
)

const plotWidth, plotHeight = 15 * vg.Centimeter, 8 * vg.Centimeter

// The plots are of a one-second stall in both ways of counting, and of waiting times against theory.
func TestPlots(t *testing.T) {
	dir := *plots
	if dir == "" {
		dir = t.TempDir()
	}
	for name, p := range map[string]*plot.Plot{"stall.png": stallPlot(t), "waiting.png": waitingPlot(t)} {
		if err := p.Save(plotWidth, plotHeight, filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.Y.Min = 0
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), vg.Points(-4)
	return p
}

func line(t *testing.T, p *plot.Plot, name string, c color.Color, points plotter.XYs) {
	t.Helper()
	l, err := plotter.NewLine(points)
	if err != nil {
		t.Fatal(err)
	}
	l.Color, l.Width = c, vg.Points(1.6)
	p.Add(l)
	p.Legend.Add(name, l)
}

// nines labels an axis over percentiles, which is logarithmic in 1/(1 − q).
type nines struct{}

func (nines) Ticks(float64, float64) []plot.Tick {
	return []plot.Tick{{Value: 0, Label: "0"}, {Value: 1, Label: "90"}, {Value: 2, Label: "99"}, {Value: 3, Label: "99.9"}}
}

func stallPlot(t *testing.T) *plot.Plot {
	p := newPlot("A second's stall, at 200 requests a second for 30 s", "percentile", "ms")
	p.X.Tick.Marker = nines{}
	q, _ := stall(t)
	var latency, service []float64
	for _, r := range q.requests {
		latency = append(latency, (r.Ended-r.Intended).Seconds()*1000)
		service = append(service, (r.Ended-r.Sent).Seconds()*1000)
	}
	curve := func(values []float64) (out plotter.XYs) {
		slices.Sort(values)
		for x := 0.0; x <= 3.4; x += 0.01 {
			rank := math.Ceil((1 - math.Pow(10, -x)) * float64(len(values)))
			out = append(out, plotter.XY{X: x, Y: values[max(int(rank)-1, 0)]})
		}
		return out
	}
	line(t, p, "latency, from the intended time", blue, curve(latency))
	line(t, p, "service time, from the sending", orange, curve(service))
	return p
}

func waitingPlot(t *testing.T) *plot.Plot {
	p := newPlot("Waiting for one server of 5 ms, measured and in theory", "load ρ", "mean wait, ms")
	const runs = 8
	for i, q := range queueings {
		c := []color.Color{blue, orange}[i]
		var theory plotter.XYs
		for rho := 0.05; rho <= 0.901; rho += 0.01 {
			theory = append(theory, plotter.XY{X: rho, Y: q.wait(rho).Seconds() * 1000})
		}
		line(t, p, q.name+": Pollaczek–Khinchine", c, theory)
		var found plotter.XYs
		var bars plotter.YErrors
		for _, rho := range []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9} {
			mean, half := meanOf(waits(q.replicate(t, rho, runs)))
			found = append(found, plotter.XY{X: rho, Y: mean / float64(time.Millisecond)})
			bars = append(bars, struct{ Low, High float64 }{half / float64(time.Millisecond), half / float64(time.Millisecond)})
		}
		points, err := plotter.NewScatter(found)
		if err != nil {
			t.Fatal(err)
		}
		points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		errors, err := plotter.NewYErrorBars(struct {
			plotter.XYer
			plotter.YErrorer
		}{found, bars})
		if err != nil {
			t.Fatal(err)
		}
		errors.Color = c
		p.Add(points, errors)
		p.Legend.Add(q.name+": measured", points)
	}
	return p
}
