// Package protocol reads and writes the lines of the worker protocol, version 1, which docs/worker-protocol.md defines.
//
// It is the engine's side: [Hello], [Run.AppendLine], [Cancel] and [Bye] make the lines that a worker reads, and a [Reader] takes
// apart what a worker writes. A [Line] holds a message, or text that is for the log, or both: text before a message in one line.
// A message that cannot be read is told as damage, with the id of the attempt that it answers, where that can be read.
//
// Lines are bounded: a reader never holds more than LineBytes of one.
package protocol
