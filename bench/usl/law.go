package usl

import "math"

// Law is the Universal Scalability Law with its parameters.
type Law struct {
	// λ > 0, the throughput of one, per second
	Lambda float64
	// σ ≥ 0, the contention: the share of the work that is serial
	Sigma float64
	// κ ≥ 0, the coherency: each pair's cost, as a share of one's work
	Kappa float64
}

// At is the throughput of n, per second.
func (l Law) At(n float64) float64 {
	return l.Lambda * n / (1 + l.Sigma*(n-1) + l.Kappa*n*(n-1))
}

// Peak is the n of the highest throughput, √((1−σ)/κ); +Inf if more never hurts (κ = 0 and σ < 1), and 1 if two are already
// slower than one.
func (l Law) Peak() float64 {
	switch {
	case l.Sigma >= 1:
		return 1
	case l.Kappa == 0:
		return math.Inf(1)
	default:
		return max(math.Sqrt((1-l.Sigma)/l.Kappa), 1)
	}
}

// Highest is the throughput at the peak, per second, or without a peak its limit λ/σ, which is +Inf if σ is 0.
func (l Law) Highest() float64 {
	if n := l.Peak(); !math.IsInf(n, 1) {
		return l.At(n)
	}
	return l.Lambda / l.Sigma
}
