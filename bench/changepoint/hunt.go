package changepoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Options define what Search accepts as a change.
type Options struct {
	// values examined together; 0 means 50, 2 is the least
	Window int
	// of a change's p-value; 0 means 0.001
	MaxP float64
	// MinMagnitude is the least change of a mean, relative to the smaller one: 0.05 is 5 %.
	MinMagnitude float64
}

func (o Options) normal() (Options, error) {
	o.Window = cmp.Or(o.Window, 50)
	o.MaxP = cmp.Or(o.MaxP, 0.001)
	switch {
	case o.Window < 2:
		return o, fmt.Errorf("window of %d values: choose 2 or more", o.Window)
	case !(o.MaxP > 0 && o.MaxP <= 1):
		return o, fmt.Errorf("p-value %v: it lies above 0 and is 1 at most", o.MaxP)
	case !(o.MinMagnitude >= 0):
		return o, fmt.Errorf("magnitude %v: choose 0 or more", o.MinMagnitude)
	}
	return o, nil
}

// Point is a change.
type Point struct {
	Index int
	// the energy statistic
	Q float64
	P float64
	// the adjoining segments, up to the next change or the end of the series
	Before, After Segment
}

// Segment is a stretch of the series.
type Segment struct {
	From, To int // series[From:To]
	Mean     float64
	// the standard deviation over n, not n−1
	SD float64
}

// N is the segment's length.
func (s Segment) N() int { return s.To - s.From }

// Magnitude is the change of the mean, relative to the smaller one: 0.25 for 100 to 80, and for 80 to 100. It does not divide
// by a mean of 0.
func (p Point) Magnitude() float64 {
	return max(relative(p.Before.Mean, p.After.Mean), relative(p.After.Mean, p.Before.Mean))
}

func relative(from, to float64) float64 {
	if from == 0 {
		return 0
	}
	return math.Abs(to/from - 1)
}

var errNotFinite = errors.New("a value is not finite")

func checkFinite(values []float64) error {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %d is %v: %w", i+1, v, errNotFinite)
		}
	}
	return nil
}

// Search finds changes by windows, t-tests and merging, as the package comment describes. It fails if an option is out of range
// or a value is not finite.
func Search(values []float64, o Options) ([]Point, error) {
	o, err := o.normal()
	if err == nil {
		err = checkFinite(values)
	}
	if err != nil {
		return nil, err
	}
	return merge(weak(values, o.Window, relaxed(o.MaxP)), values, o), nil
}

func relaxed(p float64) float64 {
	switch {
	case p < 0.05:
		return 10 * p
	case p < 0.5:
		return 2 * p
	}
	return p
}

// weak finds the candidates that are significant within some window. Windows overlap by half, or begin at the previous window's
// last change.
func weak(values []float64, window int, maxP float64) []candidate {
	var found []candidate
	var d divider
	for start := 0; start < len(values); {
		next := start + window/2
		inWindow := d.divisive(values[start:min(start+window, len(values))], maxP)
		for _, c := range inWindow {
			c.index += start
			next = max(next, c.index)
			if !slices.ContainsFunc(found, func(f candidate) bool { return f.index == c.index }) {
				found = append(found, c)
			}
		}
		start = next
	}
	slices.SortFunc(found, byIndex)
	return found
}

func byIndex(a, b candidate) int { return cmp.Compare(a.index, b.index) }

// divisive splits values at the best candidate of all segments while the t-test between its two pieces is significant.
func (d *divider) divisive(values []float64, maxP float64) []candidate {
	var found []candidate
	bounds := []int{0, len(values)}
	best := map[int]candidate{} // by the start of their segment
	for {
		at, top := -1, candidate{q: math.Inf(-1)}
		for i, from := range bounds[:len(bounds)-1] {
			if bounds[i+1]-from < 2 {
				continue
			}
			c, ok := best[from]
			if !ok {
				c = d.split(values[from:bounds[i+1]])
				c.index += from
				best[from] = c
			}
			if c.q > top.q {
				at, top = i, c
			}
		}
		if at < 0 {
			return found
		}
		from, to := bounds[at], bounds[at+1]
		if !(newPoint(values, from, top, to).P <= maxP) {
			slices.SortFunc(found, byIndex)
			return found
		}
		found = append(found, top)
		bounds = slices.Insert(bounds, at+1, top.index)
		delete(best, from)
	}
}

// merge removes the weakest change until all are significant and large enough. As in Otava, whose answers it reproduces, only
// the two changes after a removed one are tested again; the one before it keeps its p-value until the end. The returned points
// have the segments and p-values of their final neighbours.
func merge(found []candidate, values []float64, o Options) []Point {
	points := make([]Point, len(found))
	for i, c := range found {
		points[i] = Point{Index: c.index, Q: c.q}
	}
	measure(points, values)
	for len(points) > 0 {
		worst := weakest(points, o)
		if worst < 0 {
			break
		}
		points = slices.Delete(points, worst, worst+1)
		for i := worst; i < min(worst+2, len(points)); i++ {
			points[i] = between(points, i, values)
		}
	}
	measure(points, values)
	return points
}

// weakest returns the index of the change with the largest p-value, or if all are small enough, of the smallest change; -1 if
// that is large enough, too.
func weakest(points []Point, o Options) int {
	worst := 0
	for i, p := range points {
		if p.P > points[worst].P {
			worst = i
		}
	}
	if points[worst].P >= o.MaxP {
		return worst
	}
	for i, p := range points {
		if p.Magnitude() < points[worst].Magnitude() {
			worst = i
		}
	}
	if points[worst].Magnitude() > o.MinMagnitude {
		return -1
	}
	return worst
}

func measure(points []Point, values []float64) {
	for i := range points {
		points[i] = between(points, i, values)
	}
}

func between(points []Point, i int, values []float64) Point {
	from, to := 0, len(values)
	if i > 0 {
		from = points[i-1].Index
	}
	if i+1 < len(points) {
		to = points[i+1].Index
	}
	return newPoint(values, from, candidate{points[i].Index, points[i].Q}, to)
}

func newPoint(values []float64, from int, c candidate, to int) Point {
	p := Point{Index: c.index, Q: c.q, Before: newSegment(values, from, c.index), After: newSegment(values, c.index, to)}
	p.P = studentP(p.Before, p.After)
	return p
}

func newSegment(values []float64, from, to int) Segment {
	s := Segment{From: from, To: to}
	n := float64(to - from)
	if isConstant(values[from:to]) { // the mean without rounding
		s.Mean = values[from]
		return s
	}
	for _, v := range values[from:to] {
		s.Mean += v
	}
	s.Mean /= n
	squares := 0.0
	for _, v := range values[from:to] {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(squares / n)
	return s
}

func isConstant(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
}

// studentP is the two-sided p-value of Student's t-test with pooled variance; 1 for at most two values, or equal ones.
func studentP(a, b Segment) float64 {
	n, m := float64(a.N()), float64(b.N())
	if n+m <= 2 || a.Mean == b.Mean {
		return 1
	}
	df := n + m - 2
	variance := ((n-1)*a.SD*a.SD + (m-1)*b.SD*b.SD) / df
	t := (a.Mean - b.Mean) / math.Sqrt(variance*(1/n+1/m))
	if math.IsInf(t, 0) {
		return 0
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}
