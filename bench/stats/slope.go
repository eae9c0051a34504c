package stats

import (
	"fmt"
	"math"

	"pulley/internal/plural"
)

// Slope is how a cost grows with size: the b of cost = a · size^b.
type Slope struct {
	// TheilSen is the median of the slopes between all pairs of points, which one outlier does not move.
	TheilSen float64
	// LeastSquares is the slope of the least-squares line, StdErr its standard error, NaN with fewer than three points.
	LeastSquares, StdErr float64
	// number of points
	N int
	// a limit of the result
	Warning string
}

// LogLogSlope returns the exponent with which y grows with x.
//
// With X = ln x and Y = ln y over n points:
//
//	Theil–Sen:      b = median of (Yj − Yi) / (Xj − Xi) over all pairs with Xi ≠ Xj
//	least squares:  b = Sxy / Sxx,  Sxx = Σ(X − X̄)²,  Sxy = Σ(X − X̄)(Y − Ȳ)
//	standard error: √( RSS / (n − 2) / Sxx ),  RSS = Σ(Y − Ȳ − b(X − X̄))²
//
// (Sen, Estimates of the regression coefficient based on Kendall's tau, JASA 63, 1968; Draper and Smith, Applied Regression
// Analysis, section 1.4.) An exponent of 0 is a constant cost, 1 a proportional one.
//
// It fails if the lists differ in length, have a value that is not above zero, or fewer than two different sizes.
func LogLogSlope(x, y []float64) (Slope, error) {
	if len(x) != len(y) {
		return Slope{}, fmt.Errorf("slope: %d sizes against %d costs", len(x), len(y))
	}
	lx, ly := make([]float64, len(x)), make([]float64, len(y))
	for i := range x {
		if !(x[i] > 0 && y[i] > 0) || math.IsInf(x[i], 0) || math.IsInf(y[i], 0) {
			return Slope{}, fmt.Errorf("slope: point %d is (%v, %v): both must be above zero", i+1, x[i], y[i])
		}
		lx[i], ly[i] = math.Log(x[i]), math.Log(y[i])
	}
	slopes := pairSlopes(lx, ly)
	if len(slopes) == 0 {
		return Slope{}, fmt.Errorf("slope: needs at least two different sizes, has %s", plural.Of(len(x), "point"))
	}
	b, stderr := leastSquares(lx, ly)
	out := Slope{TheilSen: Median(slopes), LeastSquares: b, StdErr: stderr, N: len(x)}
	if len(x) < 3 {
		out.Warning = fmt.Sprintf("%s: a line always fits, so the slope has no standard error", plural.Of(len(x), "point"))
	}
	return out, nil
}

func pairSlopes(x, y []float64) []float64 {
	var slopes []float64
	for i := range x {
		for j := i + 1; j < len(x); j++ {
			if x[i] != x[j] {
				slopes = append(slopes, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
	}
	return slopes
}

func leastSquares(x, y []float64) (slope, stderr float64) {
	n := float64(len(x))
	var meanX, meanY float64
	for i := range x {
		meanX += x[i] / n
		meanY += y[i] / n
	}
	var sxx, sxy, rss float64
	for i := range x {
		sxx += (x[i] - meanX) * (x[i] - meanX)
		sxy += (x[i] - meanX) * (y[i] - meanY)
	}
	slope = sxy / sxx
	if len(x) < 3 {
		return slope, math.NaN()
	}
	for i := range x {
		residual := y[i] - meanY - slope*(x[i]-meanX)
		rss += residual * residual
	}
	return slope, math.Sqrt(rss / (n - 2) / sxx)
}
