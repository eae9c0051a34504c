// Package usl fits Gunther's Universal Scalability Law to measured throughputs.
//
// With N workers, connections or whatever was scaled, the law says that a second completes
//
//	X(N) = λN / (1 + σ(N−1) + κN(N−1))
//
// where λ, in completions a second, is what one does alone; σ is the share of the work that has to wait for the
// others (contention); and κ is what every pair costs to agree (coherency), which is why adding more can make things slower. With κ
// above 0 the throughput is highest at N* = √((1−σ)/κ). (N. J. Gunther, Guerrilla Capacity Planning, Springer 2007,
// chapters 4 to 6, in its form of three parameters: "A General Theory of Computational Scalability Based on Rational
// Functions", arXiv:0808.1431.)
//
// [FitLaw] minimizes the squares of the residuals of X with λ > 0 and σ, κ ≥ 0, and puts bands around everything by a wild
// bootstrap over the runs. Where the measurements do not determine κ, and with it the peak, the result says so.
package usl
