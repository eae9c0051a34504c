package stats

import (
	"errors"
	"math"
	"slices"
)

// RankTest is the outcome of a Mann–Whitney test.
type RankTest struct {
	// U counts the pairs (a, b) with a > b, and half of those with a = b. It lies between 0 and n1·n2.
	U float64
	// P is the two-sided probability of a U at least as far from n1·n2/2 when both samples are of one distribution.
	P float64
	// Exact says that P was counted out rather than approximated.
	Exact bool
}

// exactLimit is the pooled size up to which P is counted out. Up to there every count is a whole number below 2^53,
// which a float64 holds exactly: the largest is C(50, 25) ≈ 1.3·10^14.
const exactLimit = 50

// MannWhitney tests whether a and b are of one distribution, against one tending to be larger.
//
// With R the sum of the ranks of a in the pooled sample, ties sharing their mean rank,
//
//	U = R − n1(n1+1)/2.
//
// Up to 50 values, P is exact: given the pooled ranks, every choice of n1 of them is as likely as any other, and all are
// counted by their rank sum; ties need no correction in this. (Mann and Whitney, Annals of Mathematical
// Statistics 18, 1947; Lehmann, Nonparametrics, sections 1.2 and 1.5.) Beyond, P is from the normal distribution with
//
//	σ² = n1·n2/12 · ( (N+1) − Σ(t³ − t) / (N(N−1)) ),  t the sizes of the groups of ties, N = n1 + n2,
//
// and a continuity correction of 1/2. It is an error when either sample is empty or holds a NaN, which has
// no rank.
func MannWhitney(a, b []float64) (RankTest, error) {
	if len(a) == 0 || len(b) == 0 {
		return RankTest{}, errors.New("rank test: needs at least one run on either side")
	}
	pooled := slices.Concat(a, b)
	if slices.ContainsFunc(pooled, math.IsNaN) {
		return RankTest{}, errors.New("rank test: a value is not a number")
	}
	ranks, tieTerm := doubledRanks(pooled)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	n1, n2 := len(a), len(b)
	u := float64(sum-n1*(n1+1)) / 2
	if n1+n2 <= exactLimit {
		return RankTest{U: u, P: exactP(ranks, n1, sum), Exact: true}, nil
	}
	n := float64(n1 + n2)
	product := float64(n1) * float64(n2)
	sigma := math.Sqrt(product / 12 * (n + 1 - tieTerm/(n*(n-1))))
	if sigma == 0 {
		return RankTest{U: u, P: 1}, nil
	}
	z := max(math.Abs(u-product/2)-0.5, 0) / sigma
	return RankTest{U: u, P: math.Erfc(z / math.Sqrt2)}, nil
}

// doubledRanks returns twice the rank of each value, which is whole also where ties share a mean rank, and Σ(t³ − t)
// over the groups of ties.
func doubledRanks(values []float64) (ranks []int, tieTerm float64) {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case values[i] < values[j]:
			return -1
		case values[i] > values[j]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = from + 1 + to // Twice the mean of the ranks from+1 … to.
		}
		t := float64(to - from)
		tieTerm += t*t*t - t
		from = to
	}
	return ranks, tieTerm
}

// exactP counts, over all choices of n1 of the ranks, those whose sum lies at least as far from its mean as sum does.
func exactP(ranks []int, n1, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s] is the number of choices of k ranks, of those seen so far, with sum s.
	ways := make([][]float64, n1+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n1; k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	// The mean sum is n1·total/N; all is multiplied by N to stay in whole numbers.
	n := len(ranks)
	far := abs(sum*n - n1*total)
	var extreme, all float64
	for s, w := range ways[n1] {
		all += w
		if abs(s*n-n1*total) >= far {
			extreme += w
		}
	}
	return extreme / all
}

func abs(v int) int { return max(v, -v) }
