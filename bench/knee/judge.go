package knee

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"pulley/scenarios"
)

// Window is a part of a run's measured phase. It counts the instances intended in it; those that never ended are above.
type Window struct {
	Count int
	Above int
}

// Run is the result of a run at a rate.
type Run struct {
	// intended, in instances per second
	Rate float64
	// by objective; ignored if the run is invalid or overloaded
	Windows [][]Window
	// the run's backlog grew, or not all could be sent
	Overloaded bool
	// the run decides nothing
	Invalid bool
}

// Vote is above 0 for holding, below 0 for breaking, with a weight; 0 is none.
type Vote int

const (
	votesBreak  Vote = -2 // the interval is above the allowed share
	leansBreak  Vote = -1 // the share is above the allowed one
	leaningHeld Vote = 1
	votesHeld   Vote = 2
	enough      Vote = 3 // the sum that decides; one vote that holds by far suffices
)

const confidence = 0.95

// byFar is the fraction of the allowed share below which an interval holds by far.
const byFar = 0.25

// Judge returns a run's vote: that of its worst objective.
func Judge(objectives []scenarios.Objective, r Run) Vote {
	switch {
	case r.Invalid:
		return 0
	case r.Overloaded:
		return votesBreak
	}
	least := enough
	for i, o := range objectives {
		least = min(least, judgeOne(o, r.Windows[i]))
	}
	return least
}

func judgeOne(o scenarios.Objective, windows []Window) Vote {
	share, lo, hi := ShareAbove(windows)
	allowed := 1 - o.Percentile/100
	switch {
	case math.IsNaN(share):
		return 0
	case o.Percentile >= 100 && share > 0: // one is too many, and chance suffices for one
		return leansBreak
	case o.Percentile >= 100:
		return votesHeld
	case hi <= allowed*byFar:
		return enough
	case hi <= allowed:
		return votesHeld
	case share <= allowed:
		return leaningHeld
	case lo > allowed:
		return votesBreak
	default:
		return leansBreak
	}
}

// ShareAbove returns the share of latencies above the bound, with a 95 % interval. With c(w) of them in window w and a(w) of
// these above, of W windows with any,
//
//	p = Σa / Σc,  s² = W/(W−1) · Σ (a − p·c)² / (Σc)²,  p ± t(W−1)·s
//
// (the ratio estimator for clusters: Cochran, Sampling Techniques, 3rd ed., section 9A.1). It is at least as wide as Clopper's
// and Pearson's interval for Σa of Σc independent draws, which also covers the case of none above. NaN for no latencies.
func ShareAbove(windows []Window) (share, lo, hi float64) {
	var above, count, filled float64
	for _, w := range windows {
		above, count = above+float64(w.Above), count+float64(w.Count)
		if w.Count > 0 {
			filled++
		}
	}
	if count == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	share = above / count
	lo, hi = clopperPearson(above, count)
	if filled < 2 {
		return share, lo, hi
	}
	var squares float64
	for _, w := range windows {
		d := float64(w.Above) - share*float64(w.Count)
		squares += d * d
	}
	error := math.Sqrt(filled/(filled-1)*squares) / count
	t := distuv.StudentsT{Sigma: 1, Nu: filled - 1}.Quantile((1 + confidence) / 2)
	return share, min(lo, max(share-t*error, 0)), max(hi, min(share+t*error, 1))
}

// clopperPearson is the interval for a share of which a of n were drawn. (Biometrika 26, 1934.)
func clopperPearson(a, n float64) (lo, hi float64) {
	tail := (1 - confidence) / 2
	lo, hi = 0, 1
	if a > 0 {
		lo = distuv.Beta{Alpha: a, Beta: n - a + 1}.Quantile(tail)
	}
	if a < n {
		hi = distuv.Beta{Alpha: a + 1, Beta: n - a}.Quantile(1 - tail)
	}
	return lo, hi
}
