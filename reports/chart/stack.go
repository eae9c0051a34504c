package chart

import (
	"slices"

	"pulley/reports/units"
)

// Layer is a curve of a stack.
type Layer struct {
	Name  string
	Steps []Step
}

// Step is a value that holds over a stretch of the X axis.
type Step struct{ From, To, Value float64 }

// Stack returns series that fill the room of each layer above those before it, and then the layers' upper edges, so that where a layer
// is nothing, the edge beneath it is seen. Where a layer lacks a step, it
// is drawn as nothing. unit is what the values count, for their notes.
func Stack(layers []Layer, unit string) []Series {
	var fills, edges []Series
	below := map[float64]float64{} // by the begin of a step
	for i, l := range layers {
		fill, edge := Series{Name: l.Name, Kind: Area, Style: i}, Series{Name: l.Name, Kind: Steps, Style: i}
		for j, s := range l.Steps {
			if j > 0 && l.Steps[j-1].To < s.From { // nothing is known in between
				for _, x := range []float64{l.Steps[j-1].To, s.From} {
					fill.Points, edge.Points = append(fill.Points, Point{X: x}), append(edge.Points, Point{X: x})
				}
			}
			lo := below[s.From]
			hi := lo + s.Value
			below[s.From] = hi
			for _, x := range []float64{s.From, s.To} {
				fill.Points = append(fill.Points, Point{X: x, Lo: lo, Hi: hi, Note: units.Number(s.Value) + " " + unit})
				edge.Points = append(edge.Points, Point{X: x, Y: hi})
			}
		}
		fills, edges = append(fills, fill), append(edges, edge)
	}
	slices.Reverse(edges)
	return append(fills, edges...)
}
