// Package protocol reads and writes the lines of the worker protocol, version 1, which docs/worker-protocol.md defines.
//
// It is the engine's side: [Hello], [AppendRun], [Cancel] and [Bye] make the lines for a worker, and a [Reader] parses a
// worker's output. A [Line] holds a message, or text for the log, or both: text before a message in one line. An unreadable
// message is reported as damage, with the id of the attempt that it answers, if that can be read.
//
// A reader never holds more than LineBytes of a line.
package protocol
