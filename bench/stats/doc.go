// Package stats turns the runs of a comparison into figures that say how sure they are.
//
// The unit of replication is the run. A percentile within a run, or a window of it, is not a sample: windows of one run
// share its checkpoints, its caches and its neighbours on the machine. So every interval here is over runs, and where
// there are too few runs for the confidence that was asked for, the result says which confidence it really has.
//
// Nothing here assumes a normal distribution, and nothing is random: medians come with order-statistic intervals,
// designs are compared in neighbouring pairs, slopes are medians of slopes, and the rank test is exact for small
// samples. No resampling, hence no seed.
//
// A result carries its warnings; a caller shows them or stores them, and never drops them.
package stats
