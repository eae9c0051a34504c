package stats

import (
	"fmt"
	"math"
)

// PairedRatio returns the typical a[i] / b[i] with its interval.
//
// Run i of a and run i of b were neighbours in time, as in an ABBA order: A B B A A B B A … pairs each A with an adjacent B,
// and a drift of the machine affects both alike, in both directions. With d(i) = ln a(i) − ln b(i), the result is exp of the
// median of d and of its order-statistic interval. The logarithm makes the reverse ratio exactly the inverse.
//
// It fails if the lists differ in length or have a value that is not above zero. No pairs give an Interval of NaN with its
// warning.
func PairedRatio(a, b []float64, confidence float64) (Interval, error) {
	if len(a) != len(b) {
		return Interval{}, fmt.Errorf("paired ratio: %d runs against %d: leave out runs that have no partner", len(a), len(b))
	}
	logs := make([]float64, len(a))
	for i := range a {
		if !(a[i] > 0 && b[i] > 0) || math.IsInf(a[i], 0) || math.IsInf(b[i], 0) {
			return Interval{}, fmt.Errorf("paired ratio: pair %d is %v against %v: both must be above zero", i+1, a[i], b[i])
		}
		logs[i] = math.Log(a[i]) - math.Log(b[i])
	}
	out := MedianInterval(logs, confidence)
	out.Median, out.Lo, out.Hi = math.Exp(out.Median), math.Exp(out.Lo), math.Exp(out.Hi)
	return out, nil
}
