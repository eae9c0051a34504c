package stats

import (
	"fmt"
	"math"
	"slices"

	"pulley/internal/plural"
)

// RatioTest holds the runs of a candidate against those of a baseline: by which factor do they differ, and could chance
// have done it? ComparePairs and CompareGroups make one.
//
// Its test and its intervals are the same thing seen from two sides: P is at most 1 − confidence exactly when
// Interval(confidence) leaves out 1.
type RatioTest struct {
	// logs are the logarithms of the ratios whose median is the estimate, in order.
	logs     []float64
	null     *null
	runs     int
	constant bool
}

// runsMax bounds the runs of a side. All pairs of runs are held in memory.
const runsMax = 2000

// ComparePairs holds candidate[i] against baseline[i], which ran beside it. Whatever slows the machine for longer
// than a pair takes falls on both, and cancels.
//
// With d(i) = ln candidate(i) − ln baseline(i), the estimate is the Hodges–Lehmann one, the median of all Walsh averages
// (d(i) + d(j)) / 2, i ≤ j. The test is the sign-flip test over the ranks of |d|, which is Wilcoxon's signed-rank test: if
// the two sides are the same program, and a coin decided which of a pair ran first, then each d is as likely to have
// either sign, however the noise is distributed and however it hangs together over time. All 2^n choices of signs are
// counted, up to 200 pairs. The sum is taken over ranks and not over d itself because one run that the machine disturbed
// would outweigh all others. The interval from the k-th to the k-th last Walsh average, with the k of that test, is the
// set of ratios that the test does not refuse. (Hodges and Lehmann, Annals of Mathematical Statistics 34, 1963; Hollander,
// Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.1 to 3.3.)
//
// Where the order within pairs is fixed as ABBA rather than drawn, noise that hangs together over about one run
// makes neighbouring d alike: the sign of a coin is then not quite fair, and at a nominal 5 % up to 8 % are refused.
//
// Ties and values of zero make the test more careful, never less: a Walsh average of zero counts against either
// direction. A zero on both sides of a pair is no difference; on one side it is a factor of 0 or +Inf.
//
// It is an error when the lists differ in length, hold a value that is negative or not finite, or more than 2,000.
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

// CompareGroups holds the runs of candidate against those of baseline, in no particular order. It assumes that the runs
// are independent: what changed on the machine between the two groups counts as the candidate's doing.
//
// The estimate is the Hodges–Lehmann one, the median of all ln candidate(j) − ln baseline(i). The test is that of Mann and
// Whitney: all choices of which runs are the candidate's are counted, up to 100 runs in all. The interval is the set of
// ratios that it does not refuse. (Hollander, Wolfe and Chicken, sections 4.1 to 4.3.) Ties, zeros and errors are as for
// ComparePairs, but that the groups may differ in size.
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

// midpoint is the mean of two logarithms, of which either may be infinite; opposite infinities cancel.
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

// Runs is how many runs the smaller side has: of pairs, how many there are.
func (t *RatioTest) Runs() int { return t.runs }

// Constant says that all runs of the baseline gave the same figure, and all of the candidate.
func (t *RatioTest) Constant() bool { return t.constant }

// Estimate is the typical factor of candidate to baseline; +Inf or 0 where only one of them is zero.
func (t *RatioTest) Estimate() float64 {
	mid := len(t.logs) / 2
	if len(t.logs)%2 == 1 {
		return math.Exp(t.logs[mid])
	}
	return math.Exp(midpoint(t.logs[mid-1], t.logs[mid]))
}

// P is the two-sided probability of a difference at least as clear as this one when there is none.
func (t *RatioTest) P() float64 {
	atMost, _ := slices.BinarySearch(t.logs, math.SmallestNonzeroFloat64) // how many are ≤ 0
	below, _ := slices.BinarySearch(t.logs, 0)
	atLeast := len(t.logs) - below
	return min(2*t.null.below(min(atMost, atLeast)), 1)
}

// Interval encloses the true factor with at least the confidence asked for. Where there are too few runs for that, it is
// as wide as the runs allow, with the confidence that it has and a warning. Its Median is the estimate.
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
