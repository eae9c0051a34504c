package stats

import "math"

// null is the distribution of a rank statistic if nothing differs. It is symmetric over 0 … most.
type null struct {
	most int
	// P(statistic ≤ k), up to the middle; nil for the normal approximation
	cdf   []float64
	sigma float64
}

func (d *null) below(k int) float64 {
	switch {
	case k < 0:
		return 0
	case 2*k >= d.most:
		return 1 // unused: callers need one tail at most
	case d.cdf != nil:
		return d.cdf[k]
	}
	// with a continuity correction of 1/2
	z := (float64(k) + 0.5 - float64(d.most)/2) / d.sigma
	return math.Erfc(-z/math.Sqrt2) / 2
}

// rank returns the largest k ≥ 1 with 2·P(statistic ≤ k−1) ≤ 1 − confidence, and its confidence. If there is none, it returns 1
// and its confidence.
func (d *null) rank(confidence float64) (k int, has float64) {
	lo, hi := 1, d.most/2+1 // lo always counts; hi is too many
	for lo+1 < hi {
		mid := lo + (hi-lo)/2
		if 2*d.below(mid-1) <= 1-confidence {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, max(1-2*d.below(lo-1), 0)
}

// Up to these sizes distributions are enumerated. Beyond them the normal approximation is closer than the two printed digits.
const (
	exactPairs  = 200
	exactPooled = 100
)

// signedRankNull is the distribution of the sum of the positive ones' ranks among n differences if each sign is a fair coin:
// all 2^n signs, counted by their sum. (Wilcoxon, Biometrics Bulletin 1, 1945.) Beyond exactPairs, the normal distribution with
// σ² = n(n+1)(2n+1)/24.
func signedRankNull(n int) *null {
	d := &null{most: n * (n + 1) / 2, sigma: math.Sqrt(float64(n) * float64(n+1) * float64(2*n+1) / 24)}
	if n > exactPairs {
		return d
	}
	share := make([]float64, d.most/2+1)
	share[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := len(share) - 1; s >= 0; s-- {
			share[s] /= 2
			if s >= rank {
				share[s] += share[s-rank] / 2
			}
		}
	}
	d.cdf = cumulate(share)
	return d
}

// rankSumNull is the distribution of the number of pairs (one of m, one of n) whose first is larger, if all orders of the m+n
// values are equally likely: all choices of m ranks, counted. (Mann and Whitney, Annals of Mathematical Statistics 18, 1947.)
// Beyond exactPooled, the normal distribution with σ² = m·n(m+n+1)/12.
func rankSumNull(m, n int) *null {
	d := &null{most: m * n, sigma: math.Sqrt(float64(m) * float64(n) * float64(m+n+1) / 12)}
	if m+n > exactPooled {
		return d
	}
	// ways[k][u] is the number of choices of k of the ranks seen so far that have u smaller ones unchosen, summed over the
	// chosen. It is at most C(100, 50) and computed by additions, so a float64 is exact enough.
	ways := make([][]float64, m+1)
	for k := range ways {
		ways[k] = make([]float64, d.most/2+1)
	}
	ways[0][0] = 1
	for seen := range m + n {
		for k := min(m, seen+1); k >= 1; k-- {
			smaller := seen - (k - 1) // k−1 of the ranks before this one are chosen
			for u := smaller; u < len(ways[k]); u++ {
				ways[k][u] += ways[k-1][u-smaller]
			}
		}
	}
	all := math.Exp(logChoose(m+n, m))
	for u := range ways[m] {
		ways[m][u] /= all
	}
	d.cdf = cumulate(ways[m])
	return d
}

func cumulate(share []float64) []float64 {
	for i := 1; i < len(share); i++ {
		share[i] += share[i-1]
	}
	return share
}
