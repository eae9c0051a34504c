// Package check tells the author of a worker what it does wrong by the worker protocol, which docs/worker-protocol.md defines.
//
// [Run] starts the worker a few times, as an engine would, and puts before it what engines do: attempts that come together or in
// pieces, actions that it does not know, arguments that do not fit, cancels, long lines, kinds of messages of later versions, and the
// end with bye and without. It runs no action with arguments that fit, unless it is told which may be run: [Options.Run] and
// [Options.Slow]. What needs them is left out otherwise, and the report says so.
package check
