// Package graph is the compiled workflow: its nodes, which run inline or stop a traversal to commit; the edges between them;
// and how many arrivals make each node ready.
//
// A graph comes from a program ([Compile]), from Go ([New]) or from its stored definition ([Decode]). [Graph.Check] has
// accepted each, and later packages rely on that.
//
// # In Go
//
// [New] starts a graph without a text. After is a hard edge. AfterAny is a group of soft edges, one of which is enough. A
// branch continues to one of its cases. [Body.Each] starts what runs for every element of a list, with its own nodes;
// Map(limit), For or Fold makes it a node, concurrent or sequential. Build refuses what could wait for ever, or read a value too
// early: a hard edge from a case that may not be taken, a cycle, a node that leads nowhere, an expression that reads a node
// which does not come before it.
//
// # Runs
//
// A node can run more than once: a [Run] is the node and a [Path], the iteration of every loop and the index of every spread
// around it. An edge keeps the path at the target's depth: entering a loop adds 0, a back edge adds one to the last part, and
// leaving cuts.
//
// # Regions
//
// Loops, spreads and parallels are nested regions ([Region]). What node runs leave behind is cleared by region and path: a
// round of a loop when the next one begins, all branches of a spread or parallel when an error leads out of one.
//
// # Errors
//
// An action in the body of a try, however deep in loops, spreads and calls, has an exception edge to each handler that may take
// its error, in order. The edge leads outward, and carries the handler's variable.
//
// # Readiness
//
// A node is ready when as many arrivals have been counted as it requires. Only a node that can be reached more than once before
// it runs has a counter ([Graph.Waits]); all others are ready on first arrival. Where a program's ways meet again, only one can
// be taken: the meeting point is exclusive instead of counted.
//
// # Values
//
// A variable is a register in the instance's inbox. [Graph.Liveness] tells which variables something downstream may still read;
// a commit writes only those.
package graph
