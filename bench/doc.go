// Package bench runs scenarios for real and measures them: one engine on one backend, instance after
// instance, every result checked.
//
// # A run
//
// A run is one scenario at one size on one backend. It gets a schema of its own in the database, which
// is dropped afterwards. Before and after it, when no session of it is left, the server's own counters
// are read, and the difference belongs to the run. An instance's result must equal the scenario's
// expected value, and every node run must have been applied exactly once; a run in which anything is
// wrong is invalid, and decides nothing.
//
// # A comparison
//
// For every scenario and size, the backends take turns: in the first repetition in the order given, in
// the second in the opposite order, and so on (ABBA), so that a drift of the machine meets all of them
// alike. What was measured becomes a record.Summary, and how, a record.Manifest; Ctrl-C ends a
// comparison with what it has.
//
// # Latencies
//
// A hop is the time from the latest completion offered in an instance, when a task came to the engine,
// to the start of that task: commit, dispatch, and the wait for a free worker. An instance takes from
// its submission to its committed end. Both are taken on the engine's clock, in nanoseconds.
package bench
