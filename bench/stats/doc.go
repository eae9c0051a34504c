// Package stats turns the runs of a comparison into figures with their uncertainty.
//
// The unit of replication is the run. A percentile within a run, or a window of it, is not a sample: windows of one run share
// its checkpoints, caches and neighbours on the machine. So every interval is over runs, and if there are too few runs for the
// wanted confidence, the result has its real confidence.
//
// Nothing assumes a normal distribution. Medians have order-statistic intervals, slopes are medians of slopes, and two sides
// are compared by the signs or ranks of their runs, enumerated rather than sampled: the same runs always give the same answer.
// Only Bootstrap draws at random, from a given seed.
//
// To compare two sides, make a RatioTest of each figure, with ComparePairs for runs that were neighbours in time and
// CompareGroups for others, and pass all to Judge at once. It answers each with a record.Decision: worse, better, same or
// unclear.
//
// A result carries its warnings; a caller shows or stores them.
package stats
