package claims

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/bench"
	"pulley/bench/stats"
	"pulley/reports/record"
)

func slopeMethod(scenario string, sizes []int) string {
	return fmt.Sprintf("%s at sizes %s; for each repetition, the least-squares slope of ln(cost of an instance) against ln(nodes); median over repetitions.",
		scenario, strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ", "))
}

const addedMethod = "An instance costs something by itself, of which each node's part is the smaller the more nodes there are: that takes the plain exponent below 1. " +
	"So the table also gives the exponent of what is added: between neighbouring sizes, (difference of the costs) / (difference of the nodes) is what one more node costs; " +
	"1 + the slope of its ln against ln of the sizes' geometric mean is 1 if that is the same at every size, 2 if it grows with the size."

type point struct{ nodes, cost float64 }

func series(found *bench.Comparison, backend string, sizes []int, cost func(*record.Sample) (float64, bool)) [][]point {
	byRun := map[int][]point{}
	for i := range found.Manifest.Samples {
		s := &found.Manifest.Samples[i]
		v, ok := cost(s)
		if !s.Valid || s.Backend != backend || !ok || v <= 0 || !slices.Contains(sizes, s.Size) {
			continue
		}
		byRun[s.Run] = append(byRun[s.Run], point{float64(s.Nodes), v})
	}
	var out [][]point
	for _, points := range byRun {
		if len(points) == len(sizes) { // fewer would give another slope
			slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.nodes, b.nodes) })
			out = append(out, points)
		}
	}
	return out
}

// exponent is the power of the nodes with which an instance's cost grows, if there is one.
func exponent(points []point) (v float64, ok bool) {
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p.nodes, p.cost
	}
	got, err := stats.LogLogSlope(x, y)
	return got.LeastSquares, err == nil
}

// addedExponent is the exponent of the increments from size to size (see addedMethod). Points are by size.
func addedExponent(points []point) (v float64, ok bool) {
	var between []point
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		between = append(between, point{math.Sqrt(a.nodes * b.nodes), (b.cost - a.cost) / (b.nodes - a.nodes)})
	}
	v, ok = exponent(between)
	return 1 + v, ok
}

func slope(found *bench.Comparison, backend string, sizes []int, what string, cost func(*record.Sample) (float64, bool), bound Bound, claimed, tolerance float64) Figure {
	f := Figure{Name: "exponent of " + what + ", " + backend, Bound: bound, Claimed: claimed, Tolerance: tolerance}
	return f.exponents(series(found, backend, sizes, cost), exponent, invalid(found))
}

func (f Figure) exponents(all [][]point, of func([]point) (float64, bool), why string) Figure {
	var values []float64
	for _, points := range all {
		if v, ok := of(points); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return f.missing("no repetition has valid runs of all sizes: " + why)
	}
	return f.measure(values)
}
