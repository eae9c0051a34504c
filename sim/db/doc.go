// Package db simulates as much of Postgres as the designs rely on: in memory, in one goroutine, one step at a time.
//
// # What it models
//
// A Session executes batches of statements, one after another. A batch without Begin is one transaction, which commits at its
// end; after Begin the transaction lasts until Commit or Rollback. Isolation is read committed: a statement sees what was
// committed when it began and what its own transaction did before. Rows are versions. A statement that changes or locks a row
// whose newest version belongs to another transaction waits for that one. Then it continues with the newest version
// ([Table.Lock]) and computes again only if that is a different one ([Table.UpdateWhere]). If it has found the row by address, it
// misses it instead ([Table.Update], [Table.Delete]), since no address leads to a version outside its snapshot. Waiters are
// served in order. A deadlock is detected at once, and the transaction that closed the circle fails with 40P01. Keys are unique;
// an insert waits for an uncommitted one of the same key. Rollbacks do not affect sequences; a crash may leave gaps.
//
// A crash aborts open transactions, keeps committed rows and empties unlogged tables. Transaction numbers that had not reached
// the disk are reused; the next commit writes them.
//
// # Steps
//
// A Statement runs until it ends, waits or yields. At each lock and each change it calls Server.Yield, so that the world can run
// others between any two steps. It is then called again and must keep its progress in its own fields. The package has no
// goroutines, no clock and no randomness of its own.
package db
