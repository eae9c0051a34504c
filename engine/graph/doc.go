// Package graph is the compiled workflow: nodes that run inline or stop a traversal and are committed,
// the edges between them, and how many arrivals make each node ready.
//
// A graph comes from a program ([Compile]), from Go ([New]) or from its stored definition ([Decode]).
// Whatever it comes from, [Graph.Check] has passed it, and the packages behind this one trust it.
//
// # In Go
//
// [New] begins a graph without a text. After is a hard edge and AfterAny a group of soft ones, of which
// one is enough; a branch goes on to one of its cases; [Body.Each] begins what runs for every element of a
// list, with nodes of its own, and its Map(limit) or For makes it a node: side by side or one after the
// other. What could wait for ever is not built, nor what reads a value before it is there: a hard edge from
// a case that may not be taken, a cycle, a node that leads nowhere, an expression that reads a node which
// does not come before it.
//
// # Runs
//
// A node can run more than once: a [Run] is the node and a [Path], which holds the iteration of every
// loop and the index of every spread around it. Following an edge keeps the path as long as the
// target's depth: entering a loop adds 0, a back edge adds one to the last part, and leaving cuts.
//
// # Regions
//
// Loops, spreads and parallels are regions, nested in one another ([Region]). What node runs have left
// is taken away by region and path: a round of a loop when the next one begins, all branches of a spread
// or parallel when an error leads out of one of them.
//
// # Errors
//
// An action in the body of a try, however deep in loops, spreads and calls, has an exception edge to each
// handler that may take its error, in the order in which they are asked. It leads outward like any edge,
// and the handler's variable is on it.
//
// # Readiness
//
// A node is ready when as many arrivals have been counted as it requires. Only a node that can be
// reached more than once before it runs has a counter ([Graph.Waits]); all others are ready on first
// arrival. Where a program's paths meet again, only one of them can be taken, and the meeting point
// is marked exclusive instead of counted.
//
// # Values
//
// A variable is a register that travels through the instance's inbox. [Graph.Liveness] says which
// variables something downstream may still read, which is all that a commit writes.
package graph
