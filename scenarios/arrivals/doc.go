// Package arrivals parses descriptions of how instances arrive, and computes their intended times.
//
// A closed process keeps a number of instances in flight: the next one arrives when one has ended. It has no times of its own.
// An open process has times that do not depend on the system under load, so that a slow system shows in its latencies, which
// count from the intended time.
//
// With λ(t) the rate at a time t since the start, an open process is expected to bring
//
//	Λ(t) = ∫ λ(u) du  over 0 … t
//
// arrivals by then. Even arrivals occur where Λ is n + ½ for n = 0, 1, 2 …, so that their number by any t is Λ(t) rounded.
// Poisson arrivals occur where Λ is a sum of independent exponential draws of mean 1: the exact inversion of a Poisson process
// with the rate λ (Çinlar, Introduction to Stochastic Processes, 1975, section 4.7).
//
// The package is pure: randomness is an argument, and only [ReadTraceFile] opens a file.
package arrivals
