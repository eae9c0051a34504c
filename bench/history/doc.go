// Package history keeps what runs measured, over months, and says where it changed.
//
// # The file
//
// A history is a file of lines. Each is one JSON object, a [Run]: one workload on one design, measured at one revision on one
// machine. Lines are only ever appended, under a lock and each batch in one write, so that several writers may share a
// file. A line that was torn by a crash, or that nobody understands, is told and skipped; those around it count.
// A run that is added twice stands there once.
//
// Runs come from records of pulley compare, one for each valid row, and from files in Go's benchmark format, one
// for each benchmark.
//
// # The series
//
// A [Series] is one figure of one workload over time, with one value for each run: the median of its repetitions. The
// repetitions of a run share whatever the machine did that day, and a change is only what outlasts that. The key of a series
// holds the machine, the server and the load, too: values that were measured under different conditions never stand
// beside each other.
//
// # The verdict
//
// [Analyze] looks for changes with changepoint.Find, and gives each its revisions: the last one measured before and
// the first one after, between which the cause must lie. It claims none where a series is shorter than
// changepoint.LeastValues. Analyze, [FromRecord], [FromGoBench] and [Group] are pure functions; [Read] and [Append] touch
// the file.
package history
