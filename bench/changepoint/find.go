package changepoint

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// FindOptions say what Find takes for a change.
type FindOptions struct {
	// Search are the options of the search. Its thresholds are necessary, not sufficient.
	Search Options
	// Confirm are those of the permutation test; 0 means a p-value of 0.01 at most, of 999 permutations.
	Confirm PermuteOptions
	// LeastSide is how many values a change needs on either side, up to the next change; 0 means 3.
	LeastSide int
}

// LeastValues is the length from which Find claims changes. Fewer values, evenly split, have too few orders for a p-value
// clearly below 0.01: nine, split 4 and 5, have 126, of which two are as extreme as any.
const LeastValues = 10

func (o FindOptions) normal() (FindOptions, error) {
	o.Confirm.MaxP = cmp.Or(o.Confirm.MaxP, 0.01)
	o.Confirm.Permutations = cmp.Or(o.Confirm.Permutations, 999)
	o.LeastSide = cmp.Or(o.LeastSide, 3)
	if o.LeastSide < 1 {
		return o, fmt.Errorf("%d values on a side of a change: choose 1 or more", o.LeastSide)
	}
	var err error
	if o.Search, err = o.Search.normal(); err != nil {
		return o, err
	}
	o.Confirm, err = o.Confirm.normal()
	return o, err
}

// Find returns Hunt's changes that have enough values on both sides, and that the permutation test confirms: among the
// values from the change before to the change after, but no further away than a window, the best candidate's Q must be
// larger than in all but a part MaxP of the shuffled orders. P is that test's p-value. Of changes that are not confirmed
// the least sure one is dropped, and those beside it are tested anew.
//
// In a series of independent noise a change is found with a probability of no more than about MaxP for each test made.
// It is an error when an option is out of range, or a value is not finite.
func Find(values []float64, o FindOptions) ([]Point, error) {
	o, err := o.normal()
	if err != nil {
		return nil, err
	}
	points, err := Search(values, o.Search)
	if err != nil || len(values) < LeastValues {
		return nil, err
	}
	f := finder{values: values, o: o}
	for i := range points {
		points[i] = f.confirm(points, i)
	}
	for len(points) > 0 {
		worst := f.leastSure(points)
		if worst < 0 {
			break
		}
		points = slices.Delete(points, worst, worst+1)
		for i := max(worst-1, 0); i < min(worst+1, len(points)); i++ {
			points[i] = f.confirm(points, i)
		}
	}
	return points, nil
}

type finder struct {
	values  []float64
	o       FindOptions
	divider divider
}

// leastSure is the place of the point that is to be dropped first, or -1.
func (f *finder) leastSure(points []Point) int {
	worst := 0
	for i, p := range points {
		if p.P > points[worst].P {
			worst = i
		}
	}
	if points[worst].P > f.o.Confirm.MaxP {
		return worst
	}
	return slices.IndexFunc(points, func(p Point) bool { return p.Magnitude() <= f.o.Search.MinMagnitude })
}

// confirm gives a point the segments up to its neighbours, and the p-value of the permutation test: 1 where a side is too
// short.
func (f *finder) confirm(points []Point, i int) Point {
	p := between(points, i, f.values)
	if min(p.Before.N(), p.After.N()) < f.o.LeastSide {
		p.P = 1
		return p
	}
	from := max(p.Before.From, p.Index-f.o.Search.Window)
	to := min(p.After.To, p.Index+f.o.Search.Window)
	p.P = f.divider.permutationP(f.values[from:to], f.o.Confirm)
	return p
}

// enough is how many shuffled orders that are as good as the given one decide that it is nothing special.
const enough = 30

// permutationP is the probability that shuffled values have a candidate as good as theirs: (c + 1) / (R + 1) of R orders,
// of which c are. It stops early once c is enough, with c / r of the r orders until then. (Besag and Clifford, "Sequential
// Monte Carlo p-values", Biometrika 78, 1991.)
func (d *divider) permutationP(values []float64, o PermuteOptions) float64 {
	random := rand.New(rand.NewPCG(o.Seed, uint64(len(values))))
	q := d.split(values).q
	shuffled := slices.Clone(values)
	beaten := 0
	for r := range o.Permutations {
		shuffle(random, shuffled)
		if atLeast(d.split(shuffled).q, q) {
			beaten++
		}
		if beaten == enough {
			return float64(beaten) / float64(r+1)
		}
	}
	return float64(beaten+1) / float64(o.Permutations+1)
}
