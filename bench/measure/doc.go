// Package measure reads what a run cost from Postgres' counters, and what its sessions wait for.
//
// The protocol for counters is
//
//	before := Snapshot        on a connection that is used for nothing else
//	the workload runs         all its connections have an application name with a known prefix
//	the workload disconnects
//	after := Snapshot         on the same connection
//	Delta(before, after)
//
// A server process flushes its statistics about once a second and when it exits. So Snapshot waits until the workload has no
// session, which makes the counters complete and exact. After a timeout it fails with the number of remaining sessions.
//
// What a figure includes:
//
//   - Rows read are live rows of the tables of one schema that a sequential scan returned (seq_tup_read) or an index
//     or bitmap scan fetched (idx_tup_fetch), without system catalogs and TOAST tables. Postgres does not count the rows
//     of an index-only scan there, so measured sessions disable those. Index entries, including those of dead rows, are
//     counted separately. A change of a row by its address reads none.
//   - Statements come from pg_stat_statements, without failed ones and transaction control, which that extension sees
//     only under one of its settings and which commits already count.
//   - Commits are this database's committed transactions, including reading ones and each prepare outside of a
//     transaction, but not those of the measuring session, nor the one that is counted for opening a session.
//   - WAL bytes and transaction ids are the whole server's. They are the workload's if nobody else uses it.
//
// Delta warns of everything visible that distorts a figure: other clients, vacuum, checkpoints, counters that were reset or
// lost. A figure without any guarantee is null.
//
// Snapshots are exact from Postgres 15 on, where statistics are in shared memory. Before that, statistics may lag by half a
// second; a warning says so.
package measure
