// Package usl fits Gunther's Universal Scalability Law to measured throughputs.
//
// With N workers, connections or similar, the throughput is
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// where λ is the throughput of one, per second; σ is the share of the work that waits for others (contention); and κ is each
// pair's cost of agreement (coherency), which is why more can be slower. With κ above 0 the throughput is highest at N* =
// √((1−σ)/κ). (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007, chapters 4 to 6, in its form of three parameters: "A
// General Theory of Computational Scalability Based on Rational Functions", arXiv:0808.1431.)
//
// [FitLaw] minimizes the squared residuals of X with λ > 0 and σ, κ ≥ 0, and computes bands by a wild bootstrap over the runs.
// If the measurements do not determine κ, and with it the peak, the result says so.
package usl
