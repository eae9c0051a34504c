// Package bench runs scenarios for real and measures them: one or more engines on one backend, a number of instances in flight,
// every result and every node run checked.
//
// # A run
//
// A run is one scenario at one size on one backend, in its own schema, which is dropped afterwards. The server's counters are
// read before and after the run, when it has no session; the difference belongs to the run. An instance's result must equal the
// scenario's expected value, and every node run must be applied exactly once; otherwise the run is invalid and decides nothing.
// The checks follow the run. During it, one word is written per node run, at a fraction of a microsecond.
//
// # A comparison
//
// The backends take turns for every scenario and size, in opposite order in every second repetition (ABBA), so that a drift of
// the machine affects all alike. The measurements become a record.Summary, the methods a record.Manifest. Ctrl-C ends a
// comparison with what it has.
//
// # Under load
//
// A [Testbed] is a case's engines on their own store, kept for successive runs. In each run, instances arrive at the times that
// an arrival process intends; package load schedules them and judges the result. A run that leaves instances open costs the
// testbed its engines and store: the next run gets new ones.
//
// # Ceilings
//
// Before the first run and after the last, package ceiling measures what raw SQL achieves on the same server when it writes as
// the backends do. An instance's writes are derived from its graph: the core's plans run one instance with a commit per
// completion, and the values, list elements and counter increments that remain after each commit are counted. So a fraction has
// the same meaning on every row: of what a readiness-pushing design must at least write for that graph.
//
// Similar graphs share a ceiling, and at most twelve are measured. Appending depends only on the number of node runs; at most
// three numbers are measured. A row's fraction is its rate divided by the mean of both measurements for its backend's way.
//
// # Latencies
//
// Both are in nanoseconds. A hop lasts from the latest completion offered in an instance, when a task arrives at the engine, to
// that task's start: commit, dispatch and the wait for a free worker, on the engine's clock. An instance takes from the call of
// Submit until its client has the result.
package bench
