// Package fault has the kinds of faults, in files named after what they hit. A [Fault] is data: its kind, its begin, its target
// and its parameters. [Find] returns a kind, whose Inject applies the fault to a [World].
//
// # Protocol
//
// The caller draws faults with [Draw] or reads them from a file, waits for a fault's When and calls its kind's Inject. Inject
// calls over when nothing is wrong any more or, if it destroyed something, at that moment. Then it repairs what the world does
// not repair by itself, such as a killed engine, and returns. Afterwards everything that it touched works again, even if it
// failed. An error that wraps [ErrMissed] says that the fault did not happen, because its moment never came. Any other error
// means that the world, and so the run, is broken.
//
// Lacks says what a kind cannot do on a machine or with a server.
package fault
