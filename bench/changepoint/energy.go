package changepoint

import "math"

type candidate struct {
	index int
	q     float64
}

// divider finds candidates. It reuses its slices, so that a permutation test does not allocate.
type divider struct {
	before []float64 // before[k] is Σ|x(i)−x(k)| over i < τ, for the current τ
	all    []float64 // all[k] is the same over i < k
}

// split returns an index within values; of equal statistics the first.
func (d *divider) split(values []float64) candidate {
	n := len(values)
	d.before, d.all = resize(d.before, n), resize(d.all, n)
	for k, x := range values {
		d.before[k], d.all[k] = 0, 0
		for _, y := range values[:k] {
			d.all[k] += math.Abs(x - y)
		}
	}
	best := candidate{q: math.Inf(-1)}
	left := 0.0 // distances within values[:tau]
	for tau := 1; tau < n; tau++ {
		left += d.all[tau-1]
		last := values[tau-1]
		var cross, right float64
		for k := tau; k < n; k++ {
			d.before[k] += math.Abs(last - values[k])
			cross += d.before[k]
			right += d.all[k] - d.before[k]
			if q := energy(tau, k+1-tau, cross, left, right); q > best.q {
				best = candidate{tau, q}
			}
		}
	}
	return best
}

// energy returns Q for pieces of n and m values, from the sums of distances across and within them.
func energy(n, m int, cross, left, right float64) float64 {
	a, b := float64(n), float64(m)
	q := cross
	if n > 1 {
		q -= b / (a - 1) * left
	}
	if m > 1 {
		q -= a / (b - 1) * right
	}
	return 2 / (a + b) * q
}

func resize(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}
