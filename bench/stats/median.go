package stats

import (
	"fmt"
	"math"
	"slices"

	"pulley/internal/plural"
)

// Confidence is the default confidence of intervals.
const Confidence = 0.95

// Interval is an estimate with an interval around it.
type Interval struct {
	// Median is the estimate; MedianInterval's is the median of the values. NaN for no values.
	Median float64
	// Lo and Hi enclose the true value with probability Confidence. MedianInterval's are two of the values.
	Lo, Hi float64
	// Confidence is the true probability: at least the requested one, else there is a warning.
	Confidence float64
	// number of values
	N int
	// why the interval is weaker than requested
	Warning string
}

// Median returns the median, NaN for no values. It does not change values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return sorted[mid-1]/2 + sorted[mid]/2
}

// MedianInterval returns the median of values with its order-statistic interval.
//
// Of n independent values of a continuous distribution, the number below its median is Binomial(n, 1/2). So with x(1) ≤ … ≤
// x(n) in order,
//
//	P( x(k) ≤ median ≤ x(n+1−k) ) = 1 − 2 · P( Binomial(n, 1/2) ≤ k−1 ),
//
// and the interval uses the largest k for which that is at least confidence. (David and Nagaraja, Order Statistics, 3rd ed.,
// section 7.1.) With fewer than six values even the whole range, k = 1, falls short of 95 %; then it returns the range, with
// its confidence 1 − 2^(1−n) and a warning.
func MedianInterval(values []float64, confidence float64) Interval {
	n := len(values)
	if n == 0 {
		nan := math.NaN()
		return Interval{Median: nan, Lo: nan, Hi: nan, Warning: "no runs: nothing to take a median of"}
	}
	sorted := slices.Sorted(slices.Values(values))
	k, coverage := orderRank(n, confidence)
	out := Interval{Median: Median(sorted), Lo: sorted[k-1], Hi: sorted[n-k], Confidence: coverage, N: n}
	if coverage < confidence {
		out.Warning = fmt.Sprintf("%s: the interval is their range, which holds the median with %.4g %% instead of %.4g %%",
			plural.Of(n, "run"), 100*coverage, 100*confidence)
	}
	return out
}

// orderRank returns the largest k, from 1, whose interval x(k) … x(n+1−k) covers the median with at least confidence, and that
// coverage. If there is none, it returns 1 and its coverage.
func orderRank(n int, confidence float64) (k int, coverage float64) {
	k, coverage = 1, 1-2*math.Exp(logBinomialHalf(n, 0))
	tail := math.Exp(logBinomialHalf(n, 0))
	for next := 2; next <= (n+1)/2; next++ {
		tail += math.Exp(logBinomialHalf(n, next-1))
		if 1-2*tail < confidence {
			break
		}
		k, coverage = next, 1-2*tail
	}
	return k, max(coverage, 0)
}

// logBinomialHalf is the logarithm of P(Binomial(n, 1/2) = k).
func logBinomialHalf(n, k int) float64 {
	return logChoose(n, k) - float64(n)*math.Ln2
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
