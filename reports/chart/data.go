package chart

import (
	"encoding/json"
	"math"

	"pulley/reports/units"
)

// Data is a plot as a page's script reads it.
type Data struct {
	Name   string       `json:"name"`
	Title  string       `json:"title"`
	X      AxisData     `json:"x"`
	Y      AxisData     `json:"y"`
	Series []SeriesData `json:"series"`
	Bands  []BandData   `json:"bands,omitempty"`
	Rules  []RuleData   `json:"rules,omitempty"`
	// Labeled and Low are those of the plot.
	Labeled bool `json:"labeled,omitempty"`
	Low     bool `json:"low,omitempty"`
}

// AxisData is an axis.
type AxisData struct {
	Label string     `json:"label,omitempty"`
	Scale Scale      `json:"scale"`
	Unit  units.Unit `json:"unit,omitempty"`
	Names []string   `json:"names,omitempty"`
	Free  bool       `json:"free,omitempty"`
}

// SeriesData is a series.
type SeriesData struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Style   int    `json:"style"`
	Neutral bool   `json:"neutral,omitempty"`
	// Entry is its index in the legend, or -1.
	Entry  int         `json:"entry"`
	Points []PointData `json:"points"`
	Notes  []string    `json:"notes,omitempty"`
}

// PointData is x, y, lo, hi, to, top and value.
type PointData [7]float64

// MarshalJSON writes x and y only if there is nothing else: a page of a long comparison has ten thousands of points.
func (p PointData) MarshalJSON() ([]byte, error) {
	if p == (PointData{p[0], p[1], p[1], p[1]}) {
		return json.Marshal(p[:2])
	}
	return json.Marshal(p[:])
}

// BandData is a band.
type BandData struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Name  string  `json:"name,omitempty"`
	Style int     `json:"style,omitempty"`
	Top   bool    `json:"top,omitempty"`
}

// RuleData is a rule.
type RuleData struct {
	At      float64 `json:"at"`
	Name    string  `json:"name,omitempty"`
	Upright bool    `json:"upright,omitempty"`
}

// Data returns what is drawn, with figures of six significant digits.
func (p *Plot) Data() Data {
	d := newDrawing(p, wideWidth, false)
	out := Data{
		Name: d.Name, Title: clean(d.Title), Labeled: p.Labeled, Low: p.Low, Series: []SeriesData{},
		X: d.X.data(), Y: d.Y.data(),
	}
	for _, s := range d.series {
		data := SeriesData{Name: clean(s.Name), Kind: s.Kind, Style: s.Style, Neutral: s.Neutral, Entry: d.index(s.Name)}
		noted := false
		for _, pt := range s.Points {
			data.Points = append(data.Points, PointData{six(pt.X), six(pt.Y), six(pt.Lo), six(pt.Hi), six(pt.To), six(pt.Top), six(pt.Value)})
			data.Notes = append(data.Notes, clean(pt.Note))
			noted = noted || pt.Note != ""
		}
		if !noted {
			data.Notes = nil
		}
		out.Series = append(out.Series, data)
	}
	for _, b := range d.Bands {
		if p.X.holds(b.From) && p.X.holds(b.To) {
			out.Bands = append(out.Bands, BandData{b.From, b.To, clean(b.Name), b.Style, b.Top})
		}
	}
	for _, r := range d.Rules {
		if finite(r.At) {
			out.Rules = append(out.Rules, RuleData{r.At, clean(r.Name), r.Upright})
		}
	}
	return out
}

// clean is a text as a drawing has it.
func clean(text string) string { return units.Clip(units.Printable(text), textMost) }

func (a *Axis) data() AxisData {
	out := AxisData{Label: clean(a.Label), Scale: a.Scale, Unit: a.Unit, Free: a.Free}
	for _, name := range a.Names {
		out.Names = append(out.Names, clean(name))
	}
	return out
}

func six(v float64) float64 {
	if v == 0 || !finite(v) {
		return 0
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if out := math.Round(v*scale) / scale; finite(out) {
		return out
	}
	return v
}
