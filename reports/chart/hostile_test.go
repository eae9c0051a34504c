package chart_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pulley/internal/depth"
	"pulley/reports/chart"
	"pulley/reports/units"
)

var (
	kinds  = []chart.Kind{chart.Lines, chart.Dots, chart.Steps, chart.Spans, chart.Ticks, chart.Cells, chart.Area, "unheard of"}
	scales = []chart.Scale{chart.Linear, chart.Log, chart.Rows}
	nasty  = "a<b>&\"'\x00\x1b[2J\xff\u202e]]>-->" + strings.Repeat("é", 100)
)

func point(x, y float64) chart.Point {
	return chart.Point{X: x, Y: y, Lo: y, Hi: y + 1, To: x + 1, Top: y + 1, Value: 0.5}
}

// inputs are points of a series.
func inputs() map[string][]chart.Point {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0, -1, 1, 1e299, -1e299, 1e-299, 1e15, 1e15 + 1}
	var mixed, one []chart.Point
	for i, x := range odd {
		for j, y := range odd {
			pt := point(x, y)
			other := odd[(i+j)%len(odd)]
			pt.Lo, pt.Hi, pt.To, pt.Top, pt.Value = other, x, y, other, x
			mixed = append(mixed, point(x, y), pt)
		}
		one = append(one, point(1, 1), chart.Point{X: 1, Y: 1, Value: x, Lo: x, Hi: x, To: x, Top: x})
	}
	many := make([]chart.Point, depth.Of(20_000, 1_000_000))
	for i := range many {
		many[i] = point(float64(i+1), float64(i%997)+1)
		many[i].Note = nasty
	}
	return map[string][]chart.Point{
		"none": nil, "one": {point(1, 1)}, "zero": {{}}, "twice the same": {point(2, 2), point(2, 2)}, "odd values": mixed, "one place": one, "many": many,
		"all at one height": {point(1, 7), point(2, 7)}, "huge": {point(1e298, 1e298), point(2e298, 2e298)}, "tiny": {point(1e-298, 1e-298), point(2e-298, 2e-298)},
		"wide": {point(1e-298, 1e-298), point(1e298, 1e298)}, "a note": {{X: 1, Y: 1, Note: nasty}}, "backwards": {point(3, 1), point(2, 1), point(1, 1)},
	}
}

func hostile(kind chart.Kind, x, y chart.Scale, points []chart.Point) *chart.Plot {
	p := &chart.Plot{
		Name: nasty, Title: nasty, Says: nasty, Method: nasty, Labeled: true, Low: true,
		X: chart.Axis{Label: nasty, Scale: x, Unit: units.Percentile}, Y: chart.Axis{Label: nasty, Scale: y, Unit: units.Nanoseconds, Free: true},
		Series: []chart.Series{{Name: nasty, Kind: kind, Style: -3, Points: points}, {Name: "second", Kind: kind, Style: 99, Neutral: true, Points: points}},
		Bands:  []chart.Band{{From: math.NaN(), To: 1}, {From: 1, To: math.Inf(1), Name: nasty, Top: true, Style: -1}, {From: 2, To: 1, Name: nasty}},
		Rules:  []chart.Rule{{At: math.NaN()}, {At: math.Inf(-1), Upright: true}, {At: 1, Name: nasty}, {At: 1, Name: nasty, Upright: true}},
	}
	if len(points) > 100_000 {
		p.Series = p.Series[:1] // to take half as long
	}
	for i := range 3 {
		p.X.Names, p.Y.Names = append(p.X.Names, fmt.Sprint(i, nasty)), append(p.Y.Names, fmt.Sprint(i, nasty))
	}
	return p
}

const (
	drawnMost = 1_500_000 // bytes of a drawing
	pngMost   = 8_000_000
	dataMost  = 4_000_000
)

var noFigure = regexp.MustCompile(`(?i)(["\s,(MLAQC-])(nan|\+?inf(inity)?)([\s",)]|[MLAQCZ])`)

// judge draws a plot in every way.
func judge(t *testing.T, p *chart.Plot, png bool) {
	t.Helper()
	formats := []string{"svg"}
	if png {
		formats = append(formats, "png")
	}
	for _, format := range formats {
		var b bytes.Buffer
		if err := p.Write(&b, format); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if most := map[string]int{"svg": drawnMost, "png": pngMost}[format]; b.Len() > most || b.Len() == 0 {
			t.Errorf("%s: %d bytes", format, b.Len())
		}
		if format == "svg" {
			wellFormed(t, "svg", b.String())
		}
	}
	in := p.Inline()
	wellFormed(t, "wide", in.Wide)
	wellFormed(t, "narrow", in.Narrow)
	for _, e := range in.Legend {
		wellFormed(t, "legend", e.SVG)
	}
	data, err := json.Marshal(p.Data())
	if err != nil || len(data) > dataMost {
		t.Errorf("data: %d bytes, %v", len(data), err)
	}
	for _, columns := range []int{-1, 1, 80} {
		var b bytes.Buffer
		p.WriteText(&b, columns)
		if text := b.String(); !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b") || len(text) > 100_000 {
			t.Errorf("in %d columns: %d bytes, %.300q", columns, len(text), text)
		}
	}
}

func wellFormed(t *testing.T, what, text string) {
	t.Helper()
	if len(text) > drawnMost {
		t.Errorf("%s: %d bytes", what, len(text))
	}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			break
		}
	}
	if bad := noFigure.FindString(text); bad != "" {
		t.Errorf("%s: %q stands in it", what, bad)
	}
}

func TestEveryKindIsDrawnFromAnyInput(t *testing.T) {
	for name, points := range inputs() {
		for _, kind := range kinds {
			for _, x := range scales {
				for _, y := range scales {
					if !depth.Night() && x != y && x != chart.Linear {
						continue // at night: other pairs have either scale
					}
					if name == "many" && (x != chart.Linear || y != chart.Linear || testing.Short()) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", name, kind, x, y), func(t *testing.T) {
						judge(t, hostile(kind, x, y, points), x == y && (name == "odd values" || name == "one"))
					})
				}
			}
		}
	}
}

// A million points are as many as a record of a long run has.
func TestAMillionPoints(t *testing.T) {
	points := make([]chart.Point, 1_000_000)
	for i := range points {
		points[i] = point(float64(i), float64(i%1000))
	}
	judge(t, hostile(chart.Steps, chart.Linear, chart.Linear, points), false)
}

// Of everything that a plot has, there may be too much.
func TestTooMuchIsBounded(t *testing.T) {
	n := depth.Of(5_000, 20_000)
	p := hostile(chart.Dots, chart.Log, chart.Rows, []chart.Point{point(1, 1)})
	p.Y.Names = make([]string, n)
	series := hostile(chart.Lines, chart.Linear, chart.Linear, []chart.Point{point(1, 1), point(2, 3)})
	behind := hostile(chart.Lines, chart.Linear, chart.Linear, []chart.Point{point(1, 1), point(float64(n), 3)})
	for i := range n {
		p.Y.Names[i] = nasty
		p.Series[0].Points = append(p.Series[0].Points, point(float64(i+1), float64(i)))
		series.Series = append(series.Series, chart.Series{Name: fmt.Sprint("series ", i), Kind: kinds[i%len(kinds)], Style: i, Points: []chart.Point{point(float64(i), 1), point(float64(i+1), 3)}})
		behind.Bands = append(behind.Bands, chart.Band{From: float64(i), To: float64(i) + 0.5, Name: nasty + fmt.Sprint(i), Top: i%2 == 0})
		behind.Rules = append(behind.Rules, chart.Rule{At: float64(i), Name: nasty, Upright: i%2 == 0})
	}
	for name, p := range map[string]*chart.Plot{"rows": p, "series": series, "bands and rules": behind} {
		t.Run(name, func(t *testing.T) { judge(t, p, true) })
	}
}

func TestUnknownFormatsAreRefused(t *testing.T) {
	if err := (&chart.Plot{}).Write(io.Discard, "bmp"); err == nil || !strings.Contains(err.Error(), "use svg or png") {
		t.Error(err)
	}
	judge(t, &chart.Plot{}, true)
}
