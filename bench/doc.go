// Package bench runs scenarios for real and measures them: one engine or several on one backend, so many
// instances in flight, every result and every node run checked.
//
// # A run
//
// A run is one scenario at one size on one backend. It gets a schema of its own in the database, which
// is dropped afterwards. Before and after it, when no session of it is left, the server's own counters
// are read, and the difference belongs to the run. An instance's result must equal the scenario's
// expected value, and every node run must have been applied exactly once; a run in which anything is
// wrong is invalid, and decides nothing. The checks write one word per node run while the run is on, and are
// made after it: they cost a fraction of a microsecond per node.
//
// # A comparison
//
// For every scenario and size, the backends take turns: in the first repetition in the order given, in
// the second in the opposite order, and so on (ABBA), so that a drift of the machine meets all of them
// alike. What was measured becomes a record.Summary, and how, a record.Manifest; Ctrl-C ends a
// comparison with what it has.
//
// # Under load
//
// A [Testbed] is a case's engines on a store of their own, which stay for one run after the other. In each, instances come at
// the times that an arrival process intends; package load says when, and judges what came of them. What a run leaves behind
// costs the testbed its engines and its store: the next one has new ones.
//
// # Ceilings
//
// Before the first run and after the last, package ceiling measures what raw SQL can do, on the same server, in the
// ways in which the backends write. What an instance writes is found from its graph: one is run by the plans of the core, each completion
// a commit of its own, and what stands after each commit is counted, values, elements of lists and raises of counters. So a fraction
// means the same on every row: of what a design that pushes readiness must write for that graph at least. Graphs that are alike share
// a ceiling, and of more than twelve the nearest; what appends depends on the number of node runs only, of which there are up to three.
// A row's fraction is its rate divided by the mean of both measurements for its backend's way.
//
// # Latencies
//
// A hop is the time from the latest completion offered in an instance, when a task came to the engine,
// to the start of that task: commit, dispatch, and the wait for a free worker, on the engine's clock. An instance
// takes from the call of Submit to the moment at which the client has its result. Both are in nanoseconds.
package bench
