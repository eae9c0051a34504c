package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pulley/reports/record"
)

// Question is one figure on two sides for Judge.
type Question struct {
	Test *RatioTest
	// Margin is the largest irrelevant factor, less 1: 0.03 tolerates a factor of 1.03 in either direction. Zero: every
	// significant difference counts, and nothing is ever the same.
	Margin float64
	// true for throughput, false for times and costs
	MoreIsBetter bool
	// Counted figures may be the same in all runs. If each side's runs are equal, in two or more, the figures are compared
	// directly, without a test.
	Counted bool
}

// Judgement is the answer to a Question.
type Judgement struct {
	// Ratio is candidate / baseline. It excludes 1 exactly when Adjusted is at most alpha: its confidence is that of Holm's
	// procedure at this row.
	Ratio Interval
	// P is the row's own two-sided probability; Adjusted includes Holm's correction over all rows.
	P, Adjusted float64
	// Within is candidate / baseline with confidence 1 − 2·alpha, uncorrected: the two one-sided tests of equivalence at alpha.
	// Each end alone is a bound with confidence 1 − alpha.
	Within   Interval
	Decision record.Decision
	// NoRegression means that a change for the worse by more than the margin is rejected at alpha: true for Same, for most of
	// Better, and for some of Unclear, where the candidate may be better by more than the margin.
	NoRegression bool
	// a limit of the judgement
	Warning string
}

// Judge decides all questions of a comparison together, so that asking many does not find something by chance.
//
// With r the factor by which the candidate is worse than the baseline (the ratio, or its inverse if more is better) and m the
// margin:
//
//	Worse    Holm's procedure rejects r = 1, and the estimate of r is above 1 + m
//	Better   Holm's procedure rejects r = 1, and the estimate of r is below 1 / (1 + m)
//	Same     otherwise, if r < 1 / (1 + m) and r > 1 + m are both rejected (two one-sided tests at alpha)
//	Unclear  otherwise
//
// So if nothing differs, the probability of any row being Worse or Better is at most alpha, however many rows there are. (Holm,
// Scandinavian Journal of Statistics 6, 1979.) Same needs no correction for several rows, since each must pass its own test.
// (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987; Berger and Hsu, Statistical Science 11, 1996.)
//
// Answers are in the order of the questions. A question without a test is Unclear and not counted.
func Judge(questions []Question, alpha float64) []Judgement {
	out := make([]Judgement, len(questions))
	var asked []int
	ps := []float64{}
	for i, q := range questions {
		if q.Test == nil {
			nan := Interval{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
			out[i] = Judgement{Ratio: nan, Within: nan, P: 1, Adjusted: 1, Decision: record.Unclear}
			continue
		}
		out[i].P = q.p()
		asked, ps = append(asked, i), append(ps, out[i].P)
	}
	adjusted, levels := holm(ps, alpha)
	for n, i := range asked {
		out[i].Adjusted = adjusted[n]
		questions[i].decide(&out[i], alpha, levels[n])
	}
	return out
}

// Exact reports whether the figures are compared directly.
func (q Question) Exact() bool { return q.Counted && q.Test.Constant() && q.Test.Runs() >= 2 }

func (q Question) p() float64 {
	switch {
	case !q.Exact():
		return q.Test.P()
	case q.Test.Estimate() == 1:
		return 1
	}
	return 0
}

func (q Question) interval(confidence float64) Interval {
	if !q.Exact() {
		return q.Test.Interval(confidence)
	}
	v := q.Test.Estimate()
	return Interval{Median: v, Lo: v, Hi: v, Confidence: 1, N: q.Test.Runs()}
}

// decide sets what does not depend on other rows. level is Holm's alpha at this row.
func (q Question) decide(j *Judgement, alpha, level float64) {
	j.Ratio, j.Within = q.interval(1-level), q.interval(1-2*alpha)
	worse, most, least := j.Ratio.Median, j.Within.Hi, j.Within.Lo
	if q.MoreIsBetter {
		worse, most, least = 1/worse, 1/least, 1/most
	}
	enough := j.Within.Confidence >= 1-2*alpha
	j.NoRegression = enough && most <= 1+q.Margin
	switch {
	case j.Adjusted <= alpha && worse > 1+q.Margin:
		j.Decision = record.Worse
	case j.Adjusted <= alpha && worse < 1/(1+q.Margin):
		j.Decision = record.Better
	case j.NoRegression && least >= 1/(1+q.Margin):
		j.Decision = record.Same
	default:
		j.Decision = record.Unclear
	}
	if j.Warning = j.Within.Warning; j.Warning == "" {
		j.Warning = j.Ratio.Warning
	}
}

// Holm returns the p values, in the same order, adjusted for their number: with p(1) ≤ … ≤ p(m), the adjusted p(k) is the
// largest of (m − j + 1)·p(j) over j ≤ k, and at most 1. Rejecting adjusted values up to alpha rejects any true hypothesis with
// a probability of at most alpha, under any dependence.
func Holm(ps []float64) []float64 {
	adjusted, _ := holm(ps, 0)
	return adjusted
}

// holm also returns the alpha of the procedure at each hypothesis: alpha / (m − k + 1) for the k-th smallest p up to the first
// that is not rejected, and that one's for all that follow.
func holm(ps []float64, alpha float64) (adjusted, levels []float64) {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	adjusted, levels = make([]float64, len(ps)), make([]float64, len(ps))
	largest, stopped := 0.0, 0.0
	for k, i := range order {
		left := float64(len(ps) - k)
		largest = max(largest, min(left*ps[i], 1))
		level := alpha / left
		if stopped == 0 && largest > alpha {
			stopped = level
		}
		if stopped != 0 {
			level = stopped
		}
		adjusted[i], levels[i] = largest, level
	}
	return adjusted, levels
}

// FewestRuns is the least number of runs per side with which one of rows can be shown to differ at alpha, in pairs or in
// groups. With fewer, every row is Unclear.
func FewestRuns(rows int, alpha float64, paired bool) int {
	for n := 1; n <= runsMax; n++ {
		if SmallestP(n, n, paired)*float64(max(rows, 1)) <= alpha {
			return n
		}
	}
	panic(fmt.Sprintf("alpha %v is not a level", alpha))
}

// SmallestP is the least two-sided probability of a test of so many runs, in pairs or in groups; paired sides are equally long.
func SmallestP(baseline, candidate int, paired bool) float64 {
	if paired {
		return 2 * math.Exp2(-float64(baseline))
	}
	return 2 * math.Exp(-logChoose(baseline+candidate, candidate))
}
