// Package state keeps instances in memory, as their plans have made them, and applies further plans: values by slot, barriers
// with their elements, and node runs. Designs with readiness in memory share it. Durability, leases and their order are each
// design's own.
//
// # Applying
//
// [Tx.Apply] makes a plan's changes and then those of its continuations: a barrier that opens and a run that resumes are planned
// in the same transaction. Clears come last, whichever plan made what they remove. A plan that contradicts the state is an error:
// a counter beyond its count (I2), a run enqueued twice (I1), a missing value. The caller then rolls it back.
//
// # Undo
//
// Changes are made in place, and each records how to undo it. [Tx.Rollback] returns to a [Tx.Savepoint], such as the one before a
// refused member of a batch. Undo records have one type and are in one list, whose memory transactions reuse: a closure for each
// would cost more than the change. With [Tx.Final] nothing is recorded, since what is applied has happened.
//
// # What differs between designs
//
//   - [Rules.KeepDone]: whether finished runs and opened barriers stay until they are cleared. A store that keeps them detects a
//     second enqueue or arrival; one that drops them takes less memory.
//   - [Tx.Passed] is called after each step, so that a caller can make the transaction fail there.
//   - A [Run] tells what it waits for; the design owns the queues, and decides when to move the run. [Heap], [FIFO] and [Turns] are
//     parts for such queues, and [Tx.Requeued] lists the runs to queue.
package state
