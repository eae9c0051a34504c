// Package check shows the author of a worker its violations of the worker protocol, which docs/worker-protocol.md defines.
//
// [Run] starts the worker a few times and does what engines do: it sends attempts together or in pieces, unknown actions, wrong
// arguments, cancels, long lines and message kinds of later versions, and ends the worker with bye and without. It runs actions
// with valid arguments only if allowed by [Options.Run] and [Options.Slow]. Otherwise the report lists those checks as omitted.
package check
