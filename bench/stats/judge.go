package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pulley/reports/record"
)

// Question is one figure on two sides that Judge decides.
type Question struct {
	Test *RatioTest
	// Margin is the largest factor that does not matter, less 1: 0.03 lets a figure be up to 1.03 times the other, in
	// either direction. Zero: every difference that is shown matters, and nothing is ever shown to be the same.
	Margin float64
	// MoreIsBetter is the direction: set for throughput, unset for times and costs.
	MoreIsBetter bool
	// Counted says that the figure is counted rather than timed, so that a program may give the very same in each run.
	// Where it does on both sides, in two runs or more of each, the two figures are compared as they are, without a
	// test.
	Counted bool
}

// Judgement is the answer to a Question.
type Judgement struct {
	// Ratio is candidate / baseline. It leaves out 1 exactly when Adjusted is at most alpha: its confidence is that at
	// which Holm's procedure came to this row.
	Ratio Interval
	// P is the row's own two-sided probability, Adjusted the same after Holm's correction over all rows.
	P, Adjusted float64
	// Within is candidate / baseline with confidence 1 − 2·alpha, uncorrected: the two one-sided tests of equivalence
	// at alpha. Each of its ends alone is a bound with confidence 1 − alpha.
	Within Interval
	// Decision is made by the rules of Judge.
	Decision record.Decision
	// NoRegression says that a change for the worse by more than the margin is refused at alpha. It is so for Same,
	// for most of Better, and for some of Unclear: where the candidate may be better by more than the margin.
	NoRegression bool
	// Warning is empty, or says what limits the judgement.
	Warning string
}

// Judge decides all questions of one comparison together, so that asking many does not find something by chance.
//
// With r the factor by which the candidate is worse than the baseline (the ratio, or its inverse where more is better)
// and m the margin:
//
//	Worse    Holm's procedure refuses r = 1, and the estimate of r is above 1 + m
//	Better   Holm's procedure refuses r = 1, and the estimate of r is below 1 / (1 + m)
//	Same     not so, and r < 1 / (1 + m) and r > 1 + m are both refused (two one-sided tests at alpha)
//	Unclear  otherwise
//
// So where nothing differs, the probability that any row is called Worse or Better is at most alpha, however many rows
// there are. (Holm, Scandinavian Journal of Statistics 6, 1979.) A row is only called Same when that is shown for
// itself; that all of several rows are Same needs no correction, since each must pass its own test. (Schuirmann, Journal
// of Pharmacokinetics and Biopharmaceutics 15, 1987; Berger and Hsu, Statistical Science 11, 1996.)
//
// The answers are in the order of the questions. A question without a test is Unclear, and not counted.
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

// Exact says that the figures are compared as they are.
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

// decide fills in what does not depend on the other rows. level is the alpha at which Holm came to this one.
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

// Holm returns the p values adjusted for there being so many, in the same order: with p(1) ≤ … ≤ p(m),
// the adjusted p(k) is the largest of (m − j + 1)·p(j) over j ≤ k, and at most 1. Refusing what is adjusted to at most
// alpha refuses any true hypothesis with a probability of at most alpha, whatever hangs together with what.
func Holm(ps []float64) []float64 {
	adjusted, _ := holm(ps, 0)
	return adjusted
}

// holm also returns, for each hypothesis, the alpha at which the procedure came to it: alpha / (m − k + 1) for the
// k-th smallest p up to the first that is not refused, and that one's for all that follow.
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

// FewestRuns is the smallest number of runs of each side with which one row among rows can be shown to differ at
// alpha, in pairs or in groups. With fewer, every row is Unclear whatever was measured.
func FewestRuns(rows int, alpha float64, paired bool) int {
	for n := 1; n <= runsMax; n++ {
		if SmallestP(n, n, paired)*float64(max(rows, 1)) <= alpha {
			return n
		}
	}
	panic(fmt.Sprintf("alpha %v is not a level", alpha))
}

// SmallestP is the least two-sided probability that a test of so many runs can give, in pairs or in groups; pairs have as many of
// each side.
func SmallestP(baseline, candidate int, paired bool) float64 {
	if paired {
		return 2 * math.Exp2(-float64(baseline))
	}
	return 2 * math.Exp(-logChoose(baseline+candidate, candidate))
}
