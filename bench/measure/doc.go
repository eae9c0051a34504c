// Package measure reads what a run cost: from Postgres' own counters, and from histograms of latencies.
//
// The protocol for counters is
//
//	before := Snapshot        on a connection that is used for nothing else
//	the workload runs         all its connections carry an application name with a known prefix
//	the workload disconnects
//	after := Snapshot         on the same connection
//	Delta(before, after)
//
// A backend hands in its statistics about once a second, and otherwise when it leaves. So Snapshot waits until no session
// of the workload is left, which makes the counters complete and exact: from then on nothing is outstanding. It cannot
// wait for ever; when its time is up it fails and says how many sessions are still there.
//
// What a figure includes:
//
//   - Rows read are live rows of the tables of one schema that a sequential scan returned (seq_tup_read) or an index
//     or bitmap scan fetched (idx_tup_fetch); system catalogs and TOAST tables are not counted. Postgres does not count
//     the rows of an index-only scan there, so sessions that are to be measured switch those off. Index entries, among
//     them those that lead to dead rows, are counted apart. A change of a row by its address reads none.
//   - Statements come from pg_stat_statements and exclude transaction control, which that extension only sees under one
//     of its settings, and which commits count already. A statement that failed is not counted.
//   - Commits are transactions of this database that the server counts as committed, reading ones and each prepare
//     outside of a transaction included. The one that it counts for opening a session is taken off, and so are those of
//     the measuring session.
//   - WAL bytes and transaction ids belong to the whole server. They are the workload's alone when nobody else is there.
//
// Delta warns of everything it can see that makes a figure less than that: other clients, vacuum, checkpoints,
// counters that were reset or lost. A figure that it cannot vouch for at all is null.
//
// Snapshots are exact from Postgres 15 on, where statistics live in shared memory. Before that they pass through a
// process that may lag by half a second, and a warning says so.
package measure
