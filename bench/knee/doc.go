// Package knee finds the highest rate of arrivals at which a latency objective holds: the knee of the curve of latency over rate.
//
// It decides and measures nothing. [Search] says at which rate the next run is to be made, takes what the run showed, and in the end gives an
// [Answer]: the highest rate that was seen to hold and the lowest that was seen to break, which enclose the knee.
//
// # A run's vote
//
// An objective of p99 < 50 ms says that at most 1 % of latencies are above 50 ms. [Judge] counts those above in the
// windows of a run, and makes an interval for their share. A window stands for what it holds, since latencies in a queue hang together with
// their neighbours. Where the interval lies on one side of 1 %, the run votes with more weight than where it lies on both. A run
// that was overloaded, whose backlog grew, votes for breaking. A run that was not valid has no vote.
//
// # A rate's verdict
//
// One vote is not enough for breaking: what disturbs a machine makes a run slower and never faster. Runs of a rate are repeated until the votes on
// one side outweigh those on the other, or there are too many of them. Then the rate stays unclear, and the search goes on on both
// sides of it: the answer becomes wider, not wrong.
//
// # The search
//
// It begins at a guess, goes up or down until the knee is enclosed, and halves what encloses it (by ratios) until both ends are as near as
// was asked for. A caller may check the answer by runs at other rates. Where one above the answer holds, the lower ones that broke are overruled, since
// something must have disturbed them, and the search goes on upward from there.
package knee
