package chart

import (
	"math"
	"strings"

	"pulley/reports/units"
)

// Plot is one drawing.
type Plot struct {
	// Name is unique within a report and fit for a file name: "fanout-rows_read_per_node".
	Name string
	// Title is what is shown. Says is what one sees, in a sentence with figures, for readers who do not see it. Hint is how to read
	// it, in a few words; a page shows it instead of Says. Method is how it was measured, and with what spread.
	Title, Says, Hint, Method string

	X, Y   Axis
	Series []Series
	// Bands and Rules are behind the series.
	Bands []Band
	Rules []Rule
	// Labeled writes each point's Note next to it. For few points in rows.
	Labeled bool
	// Low makes it half as high, for curves over time that stand above each other.
	Low bool
}

// Scale is how an axis places values.
type Scale string

// The scales of an axis.
const (
	Linear Scale = "linear"
	Log    Scale = "log"
	// Rows places whole numbers from the top: names, not figures. A point may stand aside from the middle of its row by less
	// than half.
	Rows Scale = "rows"
)

// Axis is one of a plot's two axes.
type Axis struct {
	Label string
	Scale Scale
	Unit  units.Unit
	// Names of the rows, if the scale is Rows.
	Names []string
	// Free does not begin at zero, on a linear scale.
	Free bool
}

// Kind is how the points of a series are drawn.
type Kind string

// The kinds of series.
const (
	// Lines connects markers.
	Lines Kind = "lines"
	// Dots are markers alone.
	Dots Kind = "dots"
	// Steps hold each value until the next.
	Steps Kind = "steps"
	// Spans are bars from X to To in row Y.
	Spans Kind = "spans"
	// Ticks are short upright lines in row Y, for limits.
	Ticks Kind = "ticks"
	// Cells are rectangles from X to To and from Y to Top, the darker the nearer Value is to 1.
	Cells Kind = "cells"
	// Area is filled between Lo and Hi.
	Area Kind = "area"
)

// Series are points of one name.
type Series struct {
	Name string
	Kind Kind
	// Style is the index of its colour, dash and marker, the same for the same name all over a report.
	Style int
	// Neutral is grey: a ceiling, a claim, a bound.
	Neutral bool
	Points  []Point
}

// Point is a figure at a place.
type Point struct {
	X, Y float64
	// Lo and Hi enclose the figure: Y, or X where Y is a row. Both zero: no interval is known.
	Lo, Hi float64
	// To and Top end a span or a cell.
	To, Top float64
	// Value is a cell's darkness, from 0 to 1.
	Value float64
	// Note is said of the point when it is pointed at, and next to it in a labeled plot.
	Note string
}

// Band is a stretch of the X axis.
type Band struct {
	From, To float64
	Name     string
	Style    int
	// Top keeps it at the upper edge, with a thin line down, so that many hide nothing.
	Top bool
}

// Rule is a line across the plot at a value of one axis.
type Rule struct {
	At   float64
	Name string
	// Upright is at a value of the X axis.
	Upright bool
}

// Empty reports that no point can be shown.
func (p *Plot) Empty() bool { return len(p.shown()) == 0 }

// shown returns the series with only the points that the axes can show.
func (p *Plot) shown() []Series {
	var out []Series
	for _, s := range p.Series {
		var kept []Point
		for _, pt := range s.Points {
			if pt, ok := p.visible(s.Kind, pt); ok {
				kept = append(kept, pt)
			}
		}
		if len(kept) == 0 {
			continue
		}
		s.Points = thin(s.Kind, kept, room(s.Kind, len(p.Series)), p.Y.Scale == Rows)
		out = append(out, s)
	}
	return out
}

func (p *Plot) visible(kind Kind, pt Point) (Point, bool) {
	if kind == Area {
		pt.Y = (pt.Lo + pt.Hi) / 2
	}
	if !p.X.holds(pt.X) || !p.Y.holds(pt.Y) {
		return pt, false
	}
	if (kind == Spans || kind == Cells) && (!p.X.holds(pt.To) || pt.To < pt.X) {
		return pt, false
	}
	switch {
	case kind != Cells:
	case p.Y.Scale == Rows: // the whole row
		pt.Y = math.Ceil(pt.Y) - 0.5
		pt.Top = pt.Y + 1
	case !p.Y.holds(pt.Top) || pt.Top < pt.Y:
		return pt, false
	}
	value, axis := pt.Y, &p.Y
	if p.Y.Scale == Rows {
		value, axis = pt.X, &p.X
	}
	if kind == Area {
		return pt, axis.holds(pt.Lo) && axis.holds(pt.Hi)
	}
	if pt.Lo == 0 && pt.Hi == 0 || !finite(pt.Lo) || !finite(pt.Hi) {
		pt.Lo, pt.Hi = value, value
	}
	pt.Lo, pt.Hi = min(pt.Lo, value), max(pt.Hi, value)
	if axis.Scale == Log {
		pt.Lo = max(pt.Lo, value/1e3) // an interval down to zero ends three decades below
	}
	return pt, true
}

// hugest is beyond everything that is measured, and its powers are still numbers.
const hugest = 1e100

func finite(v float64) bool { return math.Abs(v) < hugest }

func (a *Axis) holds(v float64) bool {
	switch {
	case !finite(v):
		return false
	case a.Scale == Log:
		return v > 1/hugest
	case a.Scale == Rows:
		return v >= -0.5 && v < float64(len(a.Names))
	}
	return true
}

// limits returns what each axis must span.
func (p *Plot) limits(shown []Series) (x, y [2]float64) {
	x, y = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	add := func(to *[2]float64, a *Axis, values ...float64) {
		for _, v := range values {
			if a.holds(v) {
				to[0], to[1] = min(to[0], v), max(to[1], v)
			}
		}
	}
	for _, s := range shown {
		for _, pt := range s.Points {
			add(&x, &p.X, pt.X)
			add(&y, &p.Y, pt.Y)
			if s.Kind == Spans || s.Kind == Cells {
				add(&x, &p.X, pt.To)
			}
			if s.Kind == Cells {
				add(&y, &p.Y, pt.Top)
			}
			if p.Y.Scale == Rows {
				add(&x, &p.X, pt.Lo, pt.Hi)
			} else {
				add(&y, &p.Y, pt.Lo, pt.Hi)
			}
		}
	}
	for _, r := range p.Rules {
		if r.Upright {
			add(&x, &p.X, r.At)
		} else {
			add(&y, &p.Y, r.At)
		}
	}
	for _, b := range p.Bands {
		if !b.Top {
			add(&x, &p.X, b.From, b.To)
		}
	}
	return p.X.around(x), p.Y.around(y)
}

// around widens limits so that they are round, and never of no width.
func (a *Axis) around(l [2]float64) [2]float64 {
	switch a.Scale {
	case Rows:
		return [2]float64{-0.5, float64(len(a.Names)) - 0.5}
	case Log:
		lo, hi := logLimits(l[0], l[1])
		return [2]float64{lo, hi}
	}
	if !a.Free {
		l[0], l[1] = min(l[0], 0), max(l[1], 0)
	}
	if l[1]-l[0] <= 1e-12*max(math.Abs(l[0]), math.Abs(l[1]), 1e-12) { // ticks could not be told apart
		room := math.Max(math.Abs(l[0])*0.1, 1e-12)
		if l[0] == 0 {
			room = 1
		}
		l[1] += room
		if a.Free {
			l[0] -= room
		}
		return l
	}
	room := 0.05 * (l[1] - l[0])
	l[1] += room
	if a.Free {
		l[0] -= room
	}
	return l
}

// FileName replaces all that a file name should not hold.
func FileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, units.Clip(text, 80))
}
