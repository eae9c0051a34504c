package claims

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/bench/stats"
	"pulley/reports/record"
)

// inTurn runs a scenario at each size in each repetition, and reverses the order of sizes and backends every time, so that a
// drifting machine treats all sizes alike.
func (l *lab) inTurn(ctx context.Context, scenario string, sizes []int, backends []string, cfg func(size int) bench.CompareConfig) (*bench.Comparison, error) {
	all := &bench.Comparison{Manifest: &record.Manifest{}}
	for run := range l.runs {
		sizes, backends := slices.Clone(sizes), slices.Clone(backends)
		if run%2 == 1 {
			slices.Reverse(sizes)
			slices.Reverse(backends)
		}
		for _, size := range sizes {
			one := cfg(size)
			one.Runs = 1
			found, err := l.compare(ctx, scenario, []int{size}, backends, one)
			if err != nil {
				return nil, err
			}
			for _, s := range found.Manifest.Samples {
				s.Run = run + 1
				all.Manifest.Samples = append(all.Manifest.Samples, s)
			}
		}
	}
	return all, nil
}

type cost struct {
	name string
	get  func(*record.Sample) (float64, bool)
}

var costs = []cost{
	{"time", timePerInstance},
	{"rows read", perInstance(stats.RowsRead)},
	{"WAL bytes", perInstance(stats.WALBytes)},
}

const linearTolerance = 0.03

// linear returns a cost's two exponents: of the total, which may be below 1, and of the increments.
func linear(name string, all [][]point, why string) []claim.Figure {
	plain := claim.Figure{Name: "exponent of " + name, Bound: claim.AtMost, Claimed: 1 + linearTolerance}
	added := claim.Figure{Name: "exponent of added " + name, Bound: claim.About, Claimed: 1, Tolerance: linearTolerance}
	return []claim.Figure{exponents(plain, all, exponent, why), exponents(added, all, addedExponent, why)}
}

func goalLinear(ctx context.Context, l *lab) ([]claim.Claim, error) {
	sizes := []int{10, 100, 1000, 10_000, 100_000}
	if l.cfg.Quick {
		sizes = sizes[:3]
	}
	// A single instance of the largest size would leave half of the machine idle during the one transaction that queues all its
	// nodes, which would hide cost. Two instances alternate in that.
	held := l.pick(2_000, 200_000)
	found, err := l.inTurn(ctx, "fanout", sizes, pushed(), func(size int) bench.CompareConfig {
		return bench.CompareConfig{InFlight: max(1, min(1000, held/size)), Workers: 2000, MinNodes: 2 * held, Clear: true}
	})
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "linear", Source: sourceGoals, Text: "The cost of a workflow grows as its nodes: exponents of 1.00, within 0.03.",
		Method: slopeMethod("fan-out", sizes) + fmt.Sprintf(" In a run at least %s nodes, with instances of half as many in flight, 1,000 at most. ", claim.Number(float64(2*held))) +
			"What ended instances left is removed and counted. The sizes take turns in each repetition. " + addedMethod,
	}
	for _, backend := range pushed() {
		for _, cost := range costs {
			c.Figures = append(c.Figures, linear(cost.name+", "+backend, series(found, backend, sizes, cost.get), invalid(found))...)
		}
	}
	square, err := goalSquare(ctx, l)
	return []claim.Claim{c, square}, err
}

func goalSquare(ctx context.Context, l *lab) (claim.Claim, error) {
	sizes := []int{1000, 1400, 2000, 2800} // in smaller instances, a scan's fixed cost dominates
	if l.cfg.Quick {
		sizes = []int{150, 600}
	}
	found, err := l.inTurn(ctx, "fanout", sizes, []string{pull}, func(int) bench.CompareConfig { return bench.CompareConfig{MinNodes: 1} })
	if err != nil {
		return claim.Claim{}, err
	}
	return claim.Claim{
		ID: "linear-not-pull", Source: sourceGoals, Text: "Rescanning pull grows as the square: an exponent near 2.",
		Method: slopeMethod("fan-out", sizes) + " One instance. Near means within 0.1 for rows, and within 0.3 for time, of which each cycle has a part that no size changes.",
		Figures: []claim.Figure{
			slope(found, pull, sizes, "rows read", perInstance(stats.RowsRead), claim.About, 2, 0.1),
			slope(found, pull, sizes, "time", timePerInstance, claim.About, 2, 0.3),
		},
	}, nil
}

func goalLinearLoop(ctx context.Context, l *lab) ([]claim.Claim, error) {
	sizes := []int{32, 100, 1000, 10_000}
	switch {
	case l.cfg.least:
		sizes = []int{4, 12, 36}
	case l.cfg.Quick:
		sizes = []int{32, 100, 320}
	}
	found, err := l.byTurns(ctx, "loop", sizes, pushed())
	if err != nil {
		return nil, err
	}
	c := claim.Claim{
		ID: "linear-loop", Source: sourceGoals, Text: "The cost of a loop grows as its iterations: exponents of 1.00, within 0.03.",
		Method: slopeMethod("loop", sizes) + fmt.Sprintf(" Each size has an engine and a schema of its own, with one instance at a time, and all run by turns, of %v and the largest of %v, "+
			"until the largest has ended once, so that a machine whose speed changes changes it for all. Time and WAL are those of a size's own turns, rows those of its schema; "+
			"what instances left is removed at the end, and counted. ", turnOthers, turnLargest) + addedMethod,
	}
	for _, backend := range pushed() {
		all := found[backend]
		c.Figures = append(c.Figures, linear("time, "+backend, points(all, func(s spent) float64 { return float64(s.time) }), "")...)
		c.Figures = append(c.Figures, linear("rows read, "+backend, points(all, func(s spent) float64 { return float64(s.rowsRead) }), "")...)
		c.Figures = append(c.Figures, linear("WAL bytes, "+backend, points(all, func(s spent) float64 { return float64(s.walBytes) }), "")...)
	}
	return []claim.Claim{c}, nil
}

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

func slope(found *bench.Comparison, backend string, sizes []int, what string, cost func(*record.Sample) (float64, bool), bound claim.Bound, claimed, tolerance float64) claim.Figure {
	f := claim.Figure{Name: "exponent of " + what + ", " + backend, Bound: bound, Claimed: claimed, Tolerance: tolerance}
	return exponents(f, series(found, backend, sizes, cost), exponent, invalid(found))
}

// noExponent is why a figure of noisy costs is missing.
const noExponent = "in each repetition, a larger size cost no more than a smaller one, so that what is added has no exponent; measure for longer, or with less other load"

func exponents(f claim.Figure, all [][]point, of func([]point) (float64, bool), why string) claim.Figure {
	var values []float64
	for _, points := range all {
		if v, ok := of(points); ok {
			values = append(values, v)
		}
	}
	switch {
	case len(all) == 0:
		return f.Missing("no repetition has valid runs of all sizes: " + why)
	case len(values) == 0:
		return f.Missing(noExponent)
	}
	return f.Measure(values)
}
