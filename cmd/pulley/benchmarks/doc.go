// Package benchmarks has the commands that measure schedulers and judge the results: bench, compare, knee, ceiling, claims,
// history and gate.
package benchmarks
