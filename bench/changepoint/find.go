package changepoint

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// FindOptions define what Find accepts as a change.
type FindOptions struct {
	// necessary thresholds, not sufficient
	Search Options
	// for the permutation test; 0 means a p-value of at most 0.01, of 999 permutations
	Confirm PermuteOptions
	// LeastSide is the least number of values on either side of a change, up to the next change; 0 means 3.
	LeastSide int
}

// LeastValues is the least length in which Find claims changes. Shorter series have too few orders for a p-value clearly below
// 0.01: nine values, split 4 and 5, have 126, and two of these are the most extreme.
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

// Find returns Search's changes that have enough values on both sides and that the permutation test confirms: among the values
// between the neighbouring changes, at most a window away, the best candidate's Q must exceed that of all but a part MaxP of
// the shuffled orders. P is that test's p-value. Of unconfirmed changes the least sure one is dropped, and its neighbours are
// tested again.
//
// In independent noise, each test finds a change with a probability of about MaxP or less. It fails if an option is out of
// range or a value is not finite.
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

// leastSure is -1 if no point is dropped.
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

// confirm returns a point with the segments up to its neighbours and the permutation test's p-value: 1 if a side is too short.
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

// enough shuffled orders as good as the given one decide that it is insignificant.
const enough = 30

// permutationP returns the probability that shuffled values have an equally good candidate: (c + 1) / (R + 1) if c of R orders
// do. It stops early once c is enough, with c / r of the r orders so far. (Besag and Clifford, "Sequential Monte Carlo
// p-values", Biometrika 78, 1991.)
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
