// Package gate decides from runs of both whether a candidate is slower or costlier than a baseline.
//
// Judge is pure: it takes two sides, each a set of series of figures by run, and returns one Report with one Outcome. This
// package also makes sides of records and of files in Go's benchmark format; it runs no programs.
//
// # What is compared
//
// A figure is timed or counted. A timed one (wall time, processor time, latency) is compared only if both sides are known to be
// from the same machine. A counted one (rows read, statements, commits, WAL) is compared on any machine. A count that is equal
// in all runs of each side is exact, and any increase is a regression. Other counts are tested like times. Between machines
// they must differ by more than JitterMargin: periodic work is counted, too, and a slower machine has more of it per node.
//
// With many completions in flight, commits and statements depend on how many completions share one, and so on the machine's
// speed: they are not compared between machines.
//
// # How it is decided
//
// Each figure is tested with Mann and Whitney's test over the runs, or, if run i of both sides were neighbours in time, with
// Wilcoxon's signed-rank test of the pairs. Holm's correction covers all tested figures, so that the probability of any false
// alarm is at most alpha. A figure is a regression if it is shown to differ and its estimate is worse by more than the margin.
//
// If no difference was shown, there may be none, or the runs were too few or too noisy. A row passes only if its steadiest
// timed figure excludes, with confidence 1 − alpha, a change for the worse by more than the resolution. Otherwise the row, and
// with it the comparison, is inconclusive.
package gate
