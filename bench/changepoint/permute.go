package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// PermuteOptions say what Permute takes for a change.
type PermuteOptions struct {
	// MaxP is the p-value that a change may have at most; 0 means 0.05.
	MaxP float64
	// Permutations is how often the values are shuffled for a test; 0 means 199. The smallest possible p-value is
	// 1 / (Permutations + 1).
	Permutations int
	// Seed is where the shuffling comes from.
	Seed uint64
}

func (o PermuteOptions) normal() (PermuteOptions, error) {
	if o.MaxP == 0 {
		o.MaxP = 0.05
	}
	if o.Permutations == 0 {
		o.Permutations = 199
	}
	switch {
	case !(o.MaxP > 0 && o.MaxP <= 1):
		return o, fmt.Errorf("p-value %v: it lies above 0 and is 1 at most", o.MaxP)
	case o.Permutations < 1:
		return o, fmt.Errorf("%d permutations: choose 1 or more", o.Permutations)
	case 1/float64(o.Permutations+1) > o.MaxP:
		return o, fmt.Errorf("%d permutations cannot show a p-value of %v: choose %d or more",
			o.Permutations, o.MaxP, int(math.Ceil(1/o.MaxP))-1)
	}
	return o, nil
}

// Permute is E-divisive with its permutation test: with R permutations, of which in c the best candidate is at least as
// good as in the series, p = (c + 1) / (R + 1). Values are shuffled within the segments found so far. It stops at the
// first candidate that is not significant. The time is O(R·n²) for each change.
//
// It is an error when an option is out of range, or a value is not finite.
func Permute(values []float64, o PermuteOptions) ([]Point, error) {
	o, err := o.normal()
	if err == nil {
		err = checkFinite(values)
	}
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(o.Seed, uint64(len(values))))
	var d divider
	shuffled := make([]float64, len(values))
	bounds := []int{0, len(values)}
	var points []Point
	for {
		top, ok := d.best(values, bounds)
		if !ok {
			break
		}
		copy(shuffled, values)
		beaten := 0
		for range o.Permutations {
			for i, from := range bounds[:len(bounds)-1] {
				shuffle(random, shuffled[from:bounds[i+1]])
			}
			if c, _ := d.best(shuffled, bounds); atLeast(c.q, top.q) {
				beaten++
			}
		}
		p := float64(beaten+1) / float64(o.Permutations+1)
		if p > o.MaxP {
			break
		}
		points = append(points, Point{Index: top.index, Q: top.q, P: p})
		bounds = append(bounds, top.index)
		slices.Sort(bounds)
	}
	slices.SortFunc(points, func(a, b Point) int { return a.Index - b.Index })
	keepP(points, values)
	return points, nil
}

// keepP gives points the segments between them, but not the t-test's p-value.
func keepP(points []Point, values []float64) {
	for i := range points {
		p := points[i].P
		points[i] = between(points, i, values)
		points[i].P = p
	}
}

// best is the best candidate of all segments.
func (d *divider) best(values []float64, bounds []int) (top candidate, ok bool) {
	top.q = math.Inf(-1)
	for i, from := range bounds[:len(bounds)-1] {
		if bounds[i+1]-from < 2 {
			continue
		}
		if c := d.split(values[from:bounds[i+1]]); c.q > top.q {
			top, ok = candidate{c.index + from, c.q}, true
		}
	}
	return top, ok
}

// atLeast is q ≥ than, where what differs by rounding only is the same: a shuffled series may come out as it was.
func atLeast(q, than float64) bool { return q >= than-1e-9*math.Abs(than) }

func shuffle(random *rand.Rand, values []float64) {
	random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
}
