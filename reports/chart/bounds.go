package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pulley/reports/units"
)

// What a drawing has at most, so that it stays small whatever the input is. A reader would not see more.
const (
	seriesMost = 200
	rowsMost   = 300
	behindMost = 200 // bands, and rules
	saysMost   = 2000
	nameMost   = 200

	linesMost  = 800 // points of a series
	marksMost  = 600
	cellsMost  = 6000
	pointsMost = 16_000 // of all series
)

// bounded returns the plot with what can be drawn: printable texts, and no more of anything than the bounds. Says names what is
// missing, but for points, of which the extremes remain.
func (p *Plot) bounded() *Plot {
	out := *p
	out.Name, out.Title, out.Says, out.Method = plain(p.Name, nameMost), plain(p.Title, saysMost), plain(p.Says, saysMost), plain(p.Method, saysMost)
	var missing string
	less := func(n, most int, what string) int {
		if n > most {
			missing += fmt.Sprintf(" Of %s, the first %d are drawn.", units.Plural(n, what), most)
		}
		return min(n, most)
	}
	for _, a := range []*Axis{&out.X, &out.Y} {
		a.Label = plain(a.Label, nameMost)
		names := a.Names
		a.Names = nil
		for _, name := range names[:less(len(names), rowsMost, "row")] {
			a.Names = append(a.Names, plain(name, nameMost))
		}
	}
	out.Series = slices.Clone(p.Series[:less(len(p.Series), seriesMost, "serie")])
	for i := range out.Series {
		out.Series[i].Name = plain(out.Series[i].Name, nameMost)
	}
	out.Bands = slices.Clone(p.Bands[:less(len(p.Bands), behindMost, "band")])
	for i := range out.Bands {
		out.Bands[i].Name = plain(out.Bands[i].Name, nameMost)
	}
	out.Rules = slices.Clone(p.Rules[:less(len(p.Rules), behindMost, "rule")])
	for i := range out.Rules {
		out.Rules[i].Name = plain(out.Rules[i].Name, nameMost)
	}
	out.Says += missing
	out.Series = out.shown()
	return &out
}

func plain(s string, most int) string { return units.Printable(units.Clip(s, most)) }

// room is how many points a series of a kind may have beside that many others.
func room(kind Kind, series int) int {
	most := marksMost
	switch kind {
	case Lines, Steps, Area:
		most = linesMost
	case Cells:
		most = cellsMost
	}
	return min(most, max(pointsMost/max(series, 1), 40))
}

// thin returns at most so many points. Of neighbours, the lowest and the highest remain; of bars the longest; of cells the darkest.
func thin(kind Kind, points []Point, most int, rows bool) []Point {
	if len(points) <= most {
		return points
	}
	switch kind {
	case Cells:
		return darkest(points, most)
	case Area:
		return hull(points, most)
	case Spans:
		return longest(points, most)
	}
	value := func(pt *Point) float64 {
		if rows {
			return pt.X
		}
		return pt.Y
	}
	var out []Point
	for part := range slices.Chunk(points, chunk(len(points), most/2)) {
		lo, hi := 0, 0
		for i := range part {
			if value(&part[i]) < value(&part[lo]) {
				lo = i
			}
			if value(&part[i]) > value(&part[hi]) {
				hi = i
			}
		}
		if out = append(out, part[min(lo, hi)]); lo != hi {
			out = append(out, part[max(lo, hi)])
		}
	}
	return out
}

// chunk is how many neighbours are one part, if there are so many parts at most.
func chunk(n, parts int) int { return (n + parts - 1) / max(parts, 1) }

// hull has an area that holds each of the points.
func hull(points []Point, most int) []Point {
	var out []Point
	for part := range slices.Chunk(points, chunk(len(points), most)) {
		one := part[0]
		for _, pt := range part {
			one.Lo, one.Hi = min(one.Lo, pt.Lo), max(one.Hi, pt.Hi)
		}
		out = append(out, one)
	}
	return out
}

func longest(points []Point, most int) []Point {
	var out []Point
	for part := range slices.Chunk(points, chunk(len(points), most)) {
		out = append(out, slices.MaxFunc(part, func(a, b Point) int { return cmp.Compare(a.To-a.X, b.To-b.X) }))
	}
	return out
}

// darkest keeps the order. Of cells as dark as the palest that remains, the first remain.
func darkest(points []Point, most int) []Point {
	const shades = 1000
	var counts [shades + 1]int
	for _, pt := range points {
		counts[int(shades*shadeOf(pt))]++
	}
	palest, darker := shades, 0
	for ; palest > 0 && darker+counts[palest] <= most; palest-- {
		darker += counts[palest]
	}
	var out []Point
	left := most - darker
	for _, pt := range points {
		switch shade := int(shades * shadeOf(pt)); {
		case shade > palest:
			out = append(out, pt)
		case shade == palest && left > 0:
			out = append(out, pt)
			left--
		}
	}
	return out
}

// shadeOf is a cell's darkness from 0 to 1.
func shadeOf(pt Point) float64 {
	if math.IsNaN(pt.Value) {
		return 0
	}
	return min(max(pt.Value, 0), 1)
}
