// Package postgres is what the designs on Postgres share: the pool, migrations, workflow definitions,
// instances, wake-ups between processes, and how errors are read.
//
// Every design keeps its tables in a schema of its own, so that several can stand in one database.
// Migrations are embedded and numbered; each runs once, in a transaction, under an advisory lock.
// Every key begins with the shard, and every statement on the hot path names exactly one (D11).
//
// # Plans that stay right
//
// The statements of a design are set-based: the same text carries one completion or five hundred. A
// planner that trusts statistics picks a scan for one of the two, and a tiny table's statistics are
// always wrong a second later. So sessions switch off what a lookup by key never needs: sequential
// scans, hash and merge joins, and just-in-time compilation. Joins are then nested loops from the
// arrays into primary keys, in the order of the arrays, which also makes the order of row locks that
// of the arrays (D5).
//
// # Errors
//
// A lost connection around COMMIT leaves open what happened (D7): [Unconfirmed] says so, and the
// design reads back. [Poisoned] says that the data of a call is at fault, and not its time.
package postgres
