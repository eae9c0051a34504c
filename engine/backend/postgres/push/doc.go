// Package push is the unified readiness model on Postgres: a node run is queued when as many predecessors have completed as it
// requires, and each completion pushes its effects forward in one transaction.
//
// A node run has a queue row only while it is ready and not completed, and a counter only while it waits for several
// predecessors. Keys of all tables begin with the shard. Leases, renewal, retries and cleanup are those of package pgstore.
//
// # A completion
//
// One query, or none, reads what the core needs. One statement then commits any number of plans: it deletes each queue row if its
// token is current and the instance runs (otherwise the completion is stale), writes values, counts arrivals, enqueues what
// became ready, leases some of that to the caller, and ends instances. A small commit gets a statement with only the parts that
// its events need.
//
// If no event arrives at a barrier, that is one round trip, without BEGIN. Continuations follow when an arrival fills a counter
// or lets the next element of a spread begin, and when a traversal has stopped to read. They are planned and applied in the same
// transaction until none follows; the last plans go with COMMIT. The database refuses a counter beyond its required count; the
// completion that caused it is refused alone.
//
// # Ended regions
//
// The commit that ends a loop's round deletes its values and counters: paths below a path sort together, so each node needs one
// range. Without continuations that is still one round trip: the deletes check in the transaction's own commit slot which
// completions were applied.
//
// # Cancelling
//
// An error that leaves a spread or parallel cancels the sibling runs. Such a completion is alone of its instance in its
// transaction, which first locks all node runs of the region and its own, in key order, and so waits for completions there. Then
// it locks, without waiting, what those have queued, until it holds all that it sees. Later completions of siblings are stale.
// What a continuation cancels is also locked without waiting; if that fails, the transaction is retried with those locks first.
//
// # The order of locks
//
// A statement locks the queue, then counters, then instances, each in key order, so that commits cannot deadlock. Counters of
// later rounds may sort before those already held: the transaction waits for each some ten milliseconds at most (the lock
// timeout). After a timeout the retry first locks all counters that it met, in order.
//
// # Leases
//
// A leased row is due again when its lease expires, so claiming also takes over expired leases. Each lease has a new token from
// one sequence, which fences the previous owner.
//
// # Several engines
//
// Every engine works on every shard, but creates instances in shards of its own if it may choose (backend.Placer): then all
// engines together make about as many commits as one would.
//
// # Unknown commits
//
// A commit writes its number and the stale completions into its commit slot, a row that one commit after another reuses. If a
// connection dies at COMMIT, open completions first get new tokens: that waits for a commit in flight, and then the lost commit
// can no longer be applied. The slot tells whether it was; the rest is committed again. A commit that arrives late finds no row
// with its tokens, and does not write its slot. If a connection was lost before COMMIT, its slot is not reused: the server may
// still be executing the transaction, and sharing the slot could deadlock.
//
// # The end of an instance
//
// An instance that ends takes its rows with it if no other node run is open. If its workflow leaves that open, the last statement
// looks for queue rows; if there are any, the instance gets needs_cleanup, as a cancelled one does. Its rows are then removed in
// key order, in the background. Completions that overlap with the end may add more; Sweep finds them by needs_cleanup.
package push
