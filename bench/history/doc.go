// Package history keeps what runs measured over months, and finds where it changed.
//
// # The file
//
// A history is a file of lines. Each is one JSON object, a [Run]: one workload on one design, measured at one revision on one
// machine. Lines are only appended, under a lock and each batch in one write, so that several writers may share a file. A torn
// or unknown line is reported and skipped. A run that is added twice is stored once.
//
// Runs come from records of pulley compare, one per valid row, and from files in Go's benchmark format, one per benchmark.
//
// # The series
//
// A [Series] is one figure of one workload over time, with one value per run: the median of its repetitions. The repetitions of
// a run share the machine's state of that day, and only what outlasts that is a change. The key of a series includes machine,
// server and load, so that a series never mixes conditions.
//
// # The verdict
//
// [Analyze] finds changes with changepoint.Find, and their revisions: the last one measured before and the first one after,
// between which the cause must lie. It claims none in a series shorter than changepoint.LeastValues. Analyze, [FromRecord],
// [FromGoBench] and [Group] are pure functions; [Read] and [Append] access the file.
package history
