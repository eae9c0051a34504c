// Package state keeps what the plans of an instance have made of it in memory, and applies further plans to it: values by
// slot, barriers with their elements, and node runs. It is the part that designs share whose readiness is in memory. What
// is durable, who may lease what, and in which order, is each design's own.
//
// # Applying
//
// [Tx.Apply] makes the changes of a plan, then those of the plans that follow from it, until nothing follows: a barrier
// that opens and a run that is resumed are planned in the same transaction. What the plans clear goes last, whatever put it
// there. A plan that contradicts what it is applied to is an error: a counter beyond its count (I2), a run that is enqueued
// a second time (I1), a value that is not there. The caller then takes back what was done of it.
//
// # Undo
//
// Changes are made in place, and each leaves behind what takes it back. [Tx.Savepoint] names a place to which [Tx.Rollback]
// returns, such as that before a member of a batch which is refused. Records of undo have one type and stand in one list, whose
// memory transactions use one after the other: a closure for each would cost more than the change. With [Tx.Final] nothing is
// recorded, since what is applied has happened.
//
// # What differs between designs
//
//   - [Rules.KeepDone]: whether runs that are done and barriers that have opened stay until they are cleared. A store that
//     keeps them notices a second enqueue or arrival; one that drops them takes less memory.
//   - [Tx.Passed] is told after each step, so that a caller can make the transaction fail there.
//   - A [Run] says what it waits for; the queues in which it waits, and when it moves there, are the design's. [Heap] and
//     [FIFO] are what such queues are made of, and [Tx.Requeued] lists what is to find its queue.
package state
