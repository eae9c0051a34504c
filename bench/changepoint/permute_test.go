package changepoint

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Permute is E-divisive with its permutation test. When the best candidate of c out of R permutations is at least as good as
// the series', p = (c + 1) / (R + 1). Values are shuffled within the segments found so far. It stops at the first insignificant
// candidate. It takes O(R·n²) for each change.
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

func keepP(points []Point, values []float64) {
	for i := range points {
		p := points[i].P
		points[i] = between(points, i, values)
		points[i].P = p
	}
}

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
