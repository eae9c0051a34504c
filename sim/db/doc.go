// Package db is a database of the simulator: as much of Postgres as the designs rely on, in memory, in one
// goroutine, one step at a time.
//
// # What it is faithful to
//
// A Session takes batches of statements, one after the other. A batch without Begin is one transaction, which commits
// with it; after Begin the transaction stays until Commit or Rollback. Isolation is read committed: each statement sees
// what had been committed when it began, and what its own transaction did before. Rows are versions. A statement that
// would change or lock a row whose newest version is another transaction's waits until that is over, and then goes on
// with the newest version ([Table.Lock]; what it has computed it computes anew only if that is another one,
// [Table.UpdateWhere]), or, where it found the row by its address, misses it ([Table.Update],
// [Table.Delete]): a version that the statement's snapshot does not have is not met by its address. Waiters are served
// in the order in which they came; a circle of them is found at once, and the one that closed it is given up with
// 40P01. Keys are unique; an insert waits for one of the same key that is under way. Sequences are not rolled back, and
// may leave numbers out after a crash.
//
// A crash aborts what is under way and keeps what was committed; a table that is not logged is empty then. Numbers of
// transactions are given again that had not come to disk, which they do with the next commit.
//
// # Steps
//
// A Statement runs until it is over, must wait, or is interrupted: at each lock and each change it asks Server.Yield, so
// that the world can let others go on between any two of its steps. It is called again then, and keeps in its own
// fields how far it is. There is no goroutine, no clock and no chance here but what the world gives.
package db
