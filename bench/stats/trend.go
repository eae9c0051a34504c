package stats

import (
	"fmt"
	"math"
	"slices"

	"pulley/internal/plural"
)

// Trend is how a series of values moves over its indices.
type Trend struct {
	// Slope is the median of the slopes between all pairs of values, per index (Theil–Sen). Lo and Hi enclose it with the
	// requested confidence.
	Slope, Lo, Hi float64
	// S is Mann and Kendall's statistic: the number of rising pairs less that of falling ones.
	S int
	// P is the two-sided probability of an S at least as far from 0 if the values are independent draws of one distribution.
	P float64
}

// From trendLeast values on, S is normal enough for a test at a few per cent.
const trendLeast = 8

// TrendOf tests whether values, in their order, rise or fall.
//
// With n values and groups of t ties among them,
//
//	S      = Σ sign(x(j) − x(i)) over i < j
//	Var(S) = ( n(n−1)(2n+5) − Σ t(t−1)(2t+5) ) / 18
//	Z      = (S ∓ 1) / √Var(S), 0 for S = 0
//
// and P is from the normal distribution. (Mann, Econometrica 13, 1945; Kendall, Rank Correlation Methods, 1975.) The slope's
// interval lies between the pairs' slopes of rank (N − C)/2 and (N + C)/2 + 1, with N pairs and C = z·√Var(S). (Sen, JASA 63,
// 1968.) Correlated neighbours, such as latencies under load, make P too small: a decision should also demand a relevant slope.
//
// It fails for fewer than eight values, or one that is not finite.
func TrendOf(values []float64, confidence float64) (Trend, error) {
	n := len(values)
	if n < trendLeast {
		return Trend{}, fmt.Errorf("trend: %s, needs %d", plural.Of(n, "value"), trendLeast)
	}
	var out Trend
	slopes := make([]float64, 0, n*(n-1)/2)
	ties := map[float64]int{}
	for j, y := range values {
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return Trend{}, fmt.Errorf("trend: value %d is %v", j+1, y)
		}
		ties[y]++
		for i, x := range values[:j] {
			switch {
			case y > x:
				out.S++
			case y < x:
				out.S--
			}
			slopes = append(slopes, (y-x)/float64(j-i))
		}
	}
	variance := float64(n * (n - 1) * (2*n + 5))
	for _, t := range ties {
		variance -= float64(t * (t - 1) * (2*t + 5))
	}
	sigma := math.Sqrt(max(variance, 0) / 18)
	out.P = 1
	if sigma > 0 && out.S != 0 {
		out.P = math.Erfc((math.Abs(float64(out.S)) - 1) / sigma / math.Sqrt2)
	}
	slices.Sort(slopes)
	out.Slope = Median(slopes)
	z := math.Sqrt2 * math.Erfinv(confidence)
	pairs, c := float64(len(slopes)), z*sigma
	out.Lo = slopes[max(int(math.Floor((pairs-c)/2))-1, 0)]
	out.Hi = slopes[min(int(math.Ceil((pairs+c)/2)), len(slopes)-1)]
	return out, nil
}
