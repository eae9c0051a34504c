package changepoint

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
)

// PermuteOptions define what a permutation test accepts as a change.
type PermuteOptions struct {
	// of a change's p-value; 0 means 0.05
	MaxP float64
	// Permutations is the number of shuffles per test; 0 means 199. The smallest possible p-value is 1 / (Permutations + 1).
	Permutations int
	// for the shuffling
	Seed uint64
}

func (o PermuteOptions) normal() (PermuteOptions, error) {
	o.MaxP = cmp.Or(o.MaxP, 0.05)
	o.Permutations = cmp.Or(o.Permutations, 199)
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

// atLeast reports q ≥ than up to rounding: a shuffled series may equal the original.
func atLeast(q, than float64) bool { return q >= than-1e-9*math.Abs(than) }

func shuffle(random *rand.Rand, values []float64) {
	random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
}
