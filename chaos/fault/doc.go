// Package fault holds what can go wrong; the kinds stand by what they hit. A [Fault] is data: its kind, when it begins,
// whom it hits and how hard. [Find] gives the kind of a name, whose Inject makes it happen in a [World].
//
// # Protocol
//
// Whoever runs faults draws them with [Draw], or reads them from a file, waits for a fault's When, and
// calls its kind's Inject. That calls over at the moment at which nothing is wrong any more, or, where
// something was destroyed, at the moment of that; then it repairs what the world does not repair by itself,
// such as a killed engine, and returns. Afterwards everything that the kind touched works again, also where
// Inject failed. An error that wraps [ErrMissed] says that the fault did not happen: its moment never came.
// Any other error means that the world is broken, and the run with it.
//
// What a kind cannot do on a machine, or with a server, its Lacks says.
package fault
