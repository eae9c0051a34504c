// Package journal is the design that keeps readiness in the memory of a shard's owner. Only what happened is durable: a row for
// each instance, and an appended row for each completion.
//
// # What makes it this design
//
//   - Each shard has one owner, which alone decides there. It keeps the shard's running instances in memory and finds in them
//     what becomes ready. The other designs keep nothing of an instance in memory between two calls.
//   - A completion appends one row, or ends its instance's row. It writes no counter, queue or lease, and reads nothing. A batch
//     is one statement, whose cost does not grow with the instance.
//   - The shard's epoch fences, where the other designs lock rows: an append of an earlier owner finds another epoch.
//   - An engine that takes a shard over replays its events. So the design pays when an owner changes, and for each call of an
//     engine that does not own the shard, which is forwarded to the owner.
//
// Package pgstore provides the pool, migrations, notifications and programs. Leases and the resolution of lost commits are the
// design's own.
//
// # Who decides
//
// The owner of a shard is an open Backend. The shard's row names the owner, its epoch and the end of its lease, on the server's
// clock. The owner renews the lease sixteen times within its length and counts it from before the call, so that its own view ends
// first. No lease on a node run ends after that of its shard (I11): the shard's is an eighth longer than the longest of them, and
// one that would end later is granted only after the shard is renewed. An engine that finds the shard free, or its lease expired,
// takes it with the next epoch. Appends lock a key that contains the epoch: changing it waits for appends under way, and a later
// append of an earlier owner is not applied. A token has the epoch in its high bits and a counter below, so tokens grow from
// owner to owner.
//
// The plan of a completion is applied to the instances in memory, and each change records how to undo it. Then one statement
// appends a row for each completion of the batch and ends instances, if the epoch still holds. Only then are outcomes
// answered and tasks handed out; a batch that the server refuses is undone. Claiming tasks and renewing their leases touch only
// memory. One call at a time uses a shard; shards do not wait for one another.
//
// # What is durable
//
// The table instances has each instance with its input and later its end. The table events has each completion after which an
// instance continues, with the action's result, under a number that the owner counts; of the last completion the end says
// everything. A retried failure is an event with its wait, and a redelivery is an event with the count, so that neither depends
// on memory. An instance with many events gets a snapshot, an event that replaces all before it: a loop of ten thousand rounds is
// not replayed from its first.
//
// # Taking over
//
// An engine that takes a shard starts its running instances anew and applies their events in order, through the code that applied
// them first: the same graph, event and values give the same plan. Leases on node runs are in memory only, and have expired by
// then. Each delivery but an attempt's first is an event before it is made. An engine that takes a shard from an owner that
// exited presumes the first delivery of every node run that may have been handed out. So the bound on deliveries holds and the
// usual delivery writes nothing, but an attempt that only waited while an owner died may lose one delivery of its bound. (If the
// server's clock is set back in that time, an attempt that waited for its time may get one more.)
//
// A closed backend returns its shards together with their leases, which then hold. So does an engine that has more than its
// share, as soon as another engine looks for work. No engine takes more than its share, except a shard that nobody takes and in
// which it has something leased. An engine that owns shards places new instances there, where it may choose (backend.Placer), and
// asks other owners for work only after a notification of work, or rarely.
//
// # Engines that do not own the shard
//
// They store new instances marked as pending, and the owner adopts them. They send other calls to the owner through the table
// requests; a notification announces the answer. If the owner exits, they take the shard. An engine that stops waiting withdraws
// its request. An append made for a request marks its row, so that the row tells what was applied, and nothing is applied after
// the withdrawal. A crash of the server empties the table; then the outcome of a request is unknown.
//
// # Unknown commits
//
// If a connection dies during an append, the owner takes a new epoch, so that the lost append can no longer be applied, and looks
// for its last row (D7). If the row is missing, it appends again. If the server does not answer, the shard is dropped from
// memory, the call gets an unknown outcome, and the shard is loaded when the server is back.
//
// # Bounds
//
// Beyond Config.Memory bytes of instances in memory, new instances are stored and started later. The journal evicts an instance
// that waits for a long time: it appends a snapshot, unless the state is large compared with the events since the last one, and
// keeps only the due time and which events to read. It reloads the instance shortly before it is due; an engine that takes the
// shard over leaves it evicted. Sweep removes the events of ended instances: a page without a live event as one range, the dead
// events of other pages by their numbers. An instance whose events cannot be applied is broken: it is set aside, harms no other,
// and can be cancelled.
package journal
