// Package gate decides whether a candidate is slower or dearer than a baseline, from runs of both.
//
// Judge is pure: it takes two sides, each a set of series of figures by run, and gives one Report with one Outcome.
// What makes sides of records and of files in Go's benchmark format stands in this package, too; what runs programs does
// not.
//
// # What is compared
//
// A figure is timed or counted. A timed one (wall time, processor time, latency) means something only beside one of the same
// machine; where the machines differ, or are not known to be the same, it is not compared. A counted one (rows read,
// statements, commits, WAL) is compared on any machine. Where a count is the very same in all runs of each side, it is exact,
// and any more of it is a regression. Other counts are compared by the same test as times, and with another machine's must
// differ by more than JitterMargin: what is done from time to time is counted, too, and a slower machine has more of it per node.
//
// With many completions in flight, commits and statements depend on how many completions share one, and so on the speed of
// the machine: with another machine's they are not compared.
//
// # How it is decided
//
// The test of each figure is Mann and Whitney's over the runs, or, where run i of both sides were neighbours in time,
// Wilcoxon's signed-rank test of the pairs. Holm's correction goes over all figures that are tested, so that the probability of any
// false alarm is at most alpha however many figures there are. A figure is a regression when it is
// shown to differ and its estimate is worse by more than the margin.
//
// That nothing was shown may mean that nothing is there or that the runs were too few or too noisy. A row passes only if its
// steadiest timed figure excludes, with confidence 1 − alpha, a change for the worse by more than the resolution. Else the row, and
// with it the comparison, is inconclusive.
package gate
