// Package benchmarks has the commands that measure schedulers, and judge what was measured: bench, compare, knee, ceiling, claims, history and gate.
package benchmarks
