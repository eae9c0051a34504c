package stats

import (
	"fmt"
	"math"
	"slices"

	"pulley/internal/plural"
)

// RatioTest compares the runs of a candidate with those of a baseline: the factor between them, and whether chance explains it.
// ComparePairs and CompareGroups make one.
//
// Its test and its intervals agree: P is at most 1 − confidence exactly when Interval(confidence) excludes 1.
type RatioTest struct {
	// sorted logarithms of the ratios; their median is the estimate
	logs     []float64
	null     *null
	runs     int
	constant bool
}

// runsMax bounds the runs of a side: all pairs of runs are in memory.
const runsMax = 2000

// ComparePairs compares candidate[i] with baseline[i], its neighbour in time. A slowdown of the machine that outlasts a pair
// affects both, and cancels.
//
// With d(i) = ln candidate(i) − ln baseline(i), the estimate is that of Hodges and Lehmann, the median of all Walsh averages
// (d(i) + d(j)) / 2, i ≤ j. The test is the sign-flip test over the ranks of |d|, Wilcoxon's signed-rank test: if both sides
// are the same program and a coin decides which of a pair runs first, each d has either sign with equal probability, whatever
// the noise's distribution and dependence in time. All 2^n signs are counted, up to 200 pairs. Ranks are summed, not d itself,
// because one disturbed run would outweigh all others. The interval from the k-th to the k-th last Walsh average, with the
// test's k, is the set of ratios that the test does not reject. (Hodges and Lehmann, Annals of Mathematical Statistics 34,
// 1963; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.1 to 3.3.)
//
// If the order within pairs is a fixed ABBA instead, noise that correlates over about one run makes neighbouring d alike: the
// signs are not quite fair, and at a nominal 5 % up to 8 % are rejected.
//
// Ties and zeros make the test more conservative: a Walsh average of zero counts against either direction. A zero on both sides
// of a pair is no difference; on one side it is a factor of 0 or +Inf.
//
// It fails if the lists differ in length, have a negative or infinite value, or more than 2,000 values.
func ComparePairs(baseline, candidate []float64) (*RatioTest, error) {
	if len(baseline) != len(candidate) {
		return nil, fmt.Errorf("%d runs against %d: leave out runs that have no partner", len(baseline), len(candidate))
	}
	if err := checkSides(baseline, candidate); err != nil {
		return nil, err
	}
	d := make([]float64, len(baseline))
	for i := range d {
		d[i] = logRatio(baseline[i], candidate[i])
	}
	t := &RatioTest{runs: len(d), null: signedRankNull(len(d)), constant: isConstant(baseline) && isConstant(candidate)}
	t.logs = make([]float64, 0, t.null.most)
	for i := range d {
		for _, other := range d[:i+1] {
			t.logs = append(t.logs, midpoint(d[i], other))
		}
	}
	slices.Sort(t.logs)
	return t, nil
}

// CompareGroups compares the runs of candidate with those of baseline, in no order. It assumes independent runs: a change of
// the machine between the groups counts as the candidate's effect.
//
// The estimate is that of Hodges and Lehmann, the median of all ln candidate(j) − ln baseline(i). The test is that of Mann and
// Whitney: all choices of the candidate's runs are counted, up to 100 runs in all. The interval is the set of ratios that it
// does not reject. (Hollander, Wolfe and Chicken, sections 4.1 to 4.3.) Ties, zeros and errors are as in ComparePairs, but
// groups may differ in size.
func CompareGroups(baseline, candidate []float64) (*RatioTest, error) {
	if err := checkSides(baseline, candidate); err != nil {
		return nil, err
	}
	m, n := len(baseline), len(candidate)
	t := &RatioTest{runs: min(m, n), null: rankSumNull(m, n), constant: isConstant(baseline) && isConstant(candidate)}
	t.logs = make([]float64, 0, m*n)
	for _, a := range baseline {
		for _, b := range candidate {
			t.logs = append(t.logs, logRatio(a, b))
		}
	}
	slices.Sort(t.logs)
	return t, nil
}

func checkSides(baseline, candidate []float64) error {
	for _, side := range []struct {
		name   string
		values []float64
	}{{"baseline", baseline}, {"candidate", candidate}} {
		switch n := len(side.values); {
		case n == 0:
			return fmt.Errorf("the %s has no runs", side.name)
		case n > runsMax:
			return fmt.Errorf("the %s has %d runs: at most %d are compared", side.name, n, runsMax)
		}
		for i, v := range side.values {
			if !(v >= 0) || math.IsInf(v, 1) {
				return fmt.Errorf("run %d of the %s is %v: a ratio needs finite figures of at least 0", i+1, side.name, v)
			}
		}
	}
	return nil
}

// logRatio is ln(b/a) for figures of at least 0, with 0/0 = 1.
func logRatio(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Log(b) - math.Log(a)
}

// midpoint is the mean of two logarithms, possibly infinite; opposite infinities cancel.
func midpoint(x, y float64) float64 {
	switch {
	case x == y:
		return x
	case math.IsInf(x, 0) && math.IsInf(y, 0):
		return 0
	}
	return x/2 + y/2
}

func isConstant(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != values[0] })
}

// Runs is the number of pairs, or of runs of the smaller side.
func (t *RatioTest) Runs() int { return t.runs }

// Constant reports whether each side's runs all gave one figure.
func (t *RatioTest) Constant() bool { return t.constant }

// Estimate is the typical factor of candidate to baseline; +Inf or 0 if only one of them is zero.
func (t *RatioTest) Estimate() float64 {
	mid := len(t.logs) / 2
	if len(t.logs)%2 == 1 {
		return math.Exp(t.logs[mid])
	}
	return math.Exp(midpoint(t.logs[mid-1], t.logs[mid]))
}

// P is the two-sided probability of such a difference if there is none.
func (t *RatioTest) P() float64 {
	atMost, _ := slices.BinarySearch(t.logs, math.SmallestNonzeroFloat64)
	below, _ := slices.BinarySearch(t.logs, 0)
	atLeast := len(t.logs) - below
	return min(2*t.null.below(min(atMost, atLeast)), 1)
}

// Interval encloses the true factor with at least the requested confidence. With too few runs, it has the confidence that they
// allow, and a warning. Its Median is the estimate.
func (t *RatioTest) Interval(confidence float64) Interval {
	k, has := t.null.rank(confidence)
	out := Interval{
		Median: t.Estimate(), Lo: math.Exp(t.logs[k-1]), Hi: math.Exp(t.logs[len(t.logs)-k]), Confidence: has, N: t.runs,
	}
	if has < confidence {
		out.Warning = fmt.Sprintf("%s: the interval holds the ratio with %.4g %% instead of %.4g %%",
			plural.Of(t.runs, "run"), 100*has, 100*confidence)
	}
	return out
}
