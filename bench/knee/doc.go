// Package knee finds the highest arrival rate at which a latency objective holds: the knee of the curve of latency over rate.
//
// It decides and measures nothing. [Search] chooses the rate of the next run, receives the run's result, and finally returns an
// [Answer]: the highest rate seen to hold and the lowest seen to break, which enclose the knee.
//
// # A run's vote
//
// An objective of p99 < 50 ms allows 1 % of latencies above 50 ms. [Judge] counts those in the windows of a run and computes an
// interval for their share. The windows are its samples, because neighbouring latencies in a queue correlate. If the interval
// lies on one side of 1 %, the run's vote has more weight than if it covers both. An overloaded run, whose backlog grew, votes
// for breaking. An invalid run has no vote.
//
// # A rate's verdict
//
// One vote does not suffice for breaking: disturbances make a run slower and never faster. Runs of a rate are repeated until
// one side's votes outweigh the other's, or there are too many. Then the rate stays unclear, and the search continues on both
// sides of it: the answer becomes wider, not wrong.
//
// # The search
//
// It begins at a guess, moves up or down until the knee is enclosed, and halves the interval (by ratios) until both ends are
// within the tolerance. A caller may check the answer by runs at other rates. If one above the answer holds, the lower ones
// that broke were disturbed and are overruled, and the search continues upward from there.
package knee
