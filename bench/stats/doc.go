// Package stats turns the runs of a comparison into figures that say how sure they are.
//
// The unit of replication is the run. A percentile within a run, or a window of it, is not a sample: windows of one run
// share its checkpoints, its caches and its neighbours on the machine. So every interval here is over runs, and where
// there are too few runs for the confidence that was asked for, the result says which confidence it really has.
//
// Nothing here assumes a normal distribution. Medians come with order-statistic intervals, slopes are medians of slopes,
// and two sides are compared by the signs or the ranks of their runs, counted out rather than sampled: the same runs
// always give the same answer. Only Bootstrap draws at random, from a seed that it is given.
//
// To compare two sides, make a RatioTest of each figure, with ComparePairs for runs that were neighbours in time and
// CompareGroups for others, and give all of them to Judge at once. It answers each with a record.Decision: worse,
// better, same or unclear.
//
// A result carries its warnings; a caller shows them or stores them, and never drops them.
package stats
