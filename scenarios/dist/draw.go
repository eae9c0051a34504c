package dist

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"
)

// Times draws a non-negative duration.
type Times func(r *rand.Rand) time.Duration

// Longest bounds draws, about a hundred years in nanoseconds: sums of a few do not overflow.
const Longest = math.MaxInt64 / 3

// Constant always draws d.
func Constant(d time.Duration) Times { return times(constant(int64(d))) }

// Uniform draws from lo to hi, inclusive; lo if hi is not greater.
func Uniform(lo, hi time.Duration) Times { return times(uniform(int64(lo), int64(hi))) }

// Exponential is memoryless: -mean · ln(1 - u), u uniform in [0,1).
func Exponential(mean time.Duration) Times { return times(exponential(float64(mean), cut)) }

// LogNormal is median · e^(sigma·N), N standard normal.
func LogNormal(median time.Duration, sigma float64) Times {
	return times(logNormal(float64(median), sigma, cut))
}

// Pareto is truncated at both ends, lo > 0: with u uniform in [0,1) and q = (lo/hi)^alpha, it is lo · (1 - u·(1 -
// q))^(-1/alpha).
func Pareto(lo, hi time.Duration, alpha float64) Times {
	return times(pareto(int64(lo), int64(hi), alpha, cut))
}

// draw is a non-negative whole number.
type draw func(r *rand.Rand) int64

func times(d draw) Times {
	return func(r *rand.Rand) time.Duration { return time.Duration(d(r)) }
}

type toWhole func(float64) int64

// cut truncates, which is right if the unit is much smaller than what is drawn.
func cut(x float64) int64 {
	if !(x > 0) { // also NaN, from zero times infinity
		return 0
	}
	return int64(min(x, Longest))
}

// round rounds to nearest, so that small numbers keep their mean.
func round(x float64) int64 { return cut(math.Round(x)) }

func constant(v int64) draw { return func(*rand.Rand) int64 { return v } }

func uniform(lo, hi int64) draw {
	return func(r *rand.Rand) int64 {
		if hi <= lo {
			return lo
		}
		// The width of any range fits an unsigned number, and one more unless it is the whole range.
		return lo + int64(r.Uint64N(uint64(hi)-uint64(lo)+1))
	}
}

func exponential(mean float64, whole toWhole) draw {
	return func(r *rand.Rand) int64 { return whole(mean * r.ExpFloat64()) }
}

func logNormal(median, sigma float64, whole toWhole) draw {
	return func(r *rand.Rand) int64 { return whole(median * math.Exp(sigma*r.NormFloat64())) }
}

func pareto(lo, hi int64, alpha float64, whole toWhole) draw {
	q := math.Pow(float64(lo)/float64(hi), alpha)
	return func(r *rand.Rand) int64 {
		x := whole(float64(lo) * math.Pow(1-r.Float64()*(1-q), -1/alpha))
		return min(max(x, lo), hi)
	}
}

func oneOf(list []int64) draw {
	return func(r *rand.Rand) int64 { return list[r.IntN(len(list))] }
}

// zipfTable returns, for k from 1 to n, the sum of i^-s for i from 1 to k. Divided by the last it is P(X ≤ k).
func zipfTable(s float64, n int) []float64 {
	sums := make([]float64, n)
	sum := 0.0
	for k := range sums {
		sum += math.Pow(float64(k+1), -s)
		sums[k] = sum
	}
	return sums
}

// zipf draws by inversion: the least k with P(X ≤ k) > u, u uniform in [0,1).
func zipf(sums []float64) draw {
	last := sums[len(sums)-1]
	return func(r *rand.Rand) int64 {
		u := r.Float64() * last
		k := sort.Search(len(sums), func(i int) bool { return sums[i] > u })
		return int64(min(k, len(sums)-1)) + 1
	}
}

// mixture draws from one of several parts; bounds are the cumulative shares, the last 1.
func mixture(bounds []float64, parts []draw) draw {
	return func(r *rand.Rand) int64 {
		u := r.Float64()
		i := sort.Search(len(bounds)-1, func(i int) bool { return bounds[i] > u })
		return parts[i](r)
	}
}
