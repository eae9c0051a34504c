package load

import (
	"math"
	"slices"
	"time"

	"pulley/bench/stats"
	"pulley/reports/record"
)

const confidence = 0.95

// spread is a set of times. Some are unknown but longer than all others: those of unended requests.
type spread struct {
	known []time.Duration
	count int
}

func newSpread(known []time.Duration, unknown int) spread {
	known = slices.Clone(known)
	slices.Sort(known)
	return spread{known, len(known) + unknown}
}

// at is the q-quantile, 0 < q ≤ 1; nil: unknown, or no times.
func (s spread) at(q float64) *int64 {
	return s.rank(int(math.Ceil(q * float64(s.count) * (1 - 1e-12))))
}

func (s spread) rank(n int) *int64 {
	if n = max(n, 1); n > len(s.known) {
		return nil
	}
	ns := int64(s.known[n-1])
	return &ns
}

func (s spread) times() record.LoadTimes {
	out := record.LoadTimes{Count: s.count, P50: s.at(.5), P90: s.at(.9), P99: s.at(.99), P999: s.at(.999), Max: s.at(1)}
	if s.count > 0 && s.count == len(s.known) {
		sum := 0.0
		for _, t := range s.known {
			sum += float64(t)
		}
		mean := int64(sum / float64(s.count))
		out.MeanNS = &mean
	}
	return out
}

const never = time.Duration(math.MaxInt64)

// percentileOf returns a percentile, 0 < p ≤ 100, of latencies in the order of intended times, with an interval.
//
// Neighbours in a queue correlate. With I(i) = 1 if the i-th latency is above the quantile, and the variance of the means of b
// batches of m neighbours, n latencies are worth n/τ independent ones,
//
//	τ = m · Var(batch mean of I) / ( q (1 − q) ), at least 1,
//
// and the interval lies between the ranks n·q ± z·√(τ·n·q(1−q)). (Meketon and Schmeiser, Overlapping Batch Means, 1984; the
// quantile's variance after Bahadur, 1966.)
func percentileOf(latencies []time.Duration, p float64) record.LoadPercentile {
	out := record.LoadPercentile{Percentile: p, Confidence: confidence}
	ended := slices.DeleteFunc(slices.Clone(latencies), func(t time.Duration) bool { return t == never })
	s := newSpread(ended, len(latencies)-len(ended))
	q := p / 100
	out.ValueNS = s.at(q)
	if q >= 1 {
		return out // no number of draws encloses the maximum
	}
	out.Needs = stats.QuantileNeeds(q, confidence)
	if s.count < out.Needs {
		return out
	}
	lo, hi, _ := stats.QuantileRanks(s.count, q, confidence)
	if tau := likeness(latencies, out.ValueNS, q); tau > 1 {
		middle := q * float64(s.count)
		lo = int(math.Floor(middle - (middle-float64(lo))*math.Sqrt(tau)))
		hi = int(math.Ceil(middle + (float64(hi)-middle)*math.Sqrt(tau)))
	}
	out.LoNS = s.rank(lo)
	if hi <= s.count {
		out.HiNS = s.rank(hi)
	}
	return out
}

const batches = 20

func likeness(latencies []time.Duration, quantile *int64, q float64) float64 {
	m := len(latencies) / batches
	if quantile == nil || m < 2 {
		return 1
	}
	means := make([]float64, batches)
	mean := 0.0
	for i := range means {
		for _, l := range latencies[i*m : (i+1)*m] {
			if int64(l) > *quantile {
				means[i] += 1 / float64(m)
			}
		}
		mean += means[i] / batches
	}
	variance := 0.0
	for _, y := range means {
		variance += (y - mean) * (y - mean) / (batches - 1)
	}
	return max(float64(m)*variance/(q*(1-q)), 1)
}
