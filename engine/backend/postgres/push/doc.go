// Package push is the unified readiness model on Postgres: a node run is queued when the number of
// its predecessors that completed equals the number it requires, and each completion pushes its
// effects forward in one transaction.
//
// # Tables
//
// queue has a row for each node run that became ready, with its arguments, its state and its fencing
// token; readiness a counter for each barrier, and only for nodes that can wait; inbox the values
// that something downstream will read; instances one row each, touched at the beginning and the end
// only. Keys begin with the shard.
//
// # A completion
//
// What the core needs is read in one query; a value that several completions need is read once. Its plan is
// committed by one set-based statement, which carries any number of completions: mark the task completed if
// the token is the current one and the instance runs (otherwise the completion is stale, and nothing of it
// takes place), put values into inboxes, count arrivals, enqueue what became ready — leased at once to the
// engine that asks, as far as it has room; a sleep becomes due later and is leased then —, and end instances.
// If an arrival makes a counter equal to what is required, lets the next element of a spread begin, or a
// traversal has stopped to read, that has a plan of its own, which is committed in the same transaction, and
// so on until nothing goes on: completion, barrier and output are one commit. A counter that would pass its
// required count is refused by the database, and the completion that did it is taken out and answered by
// itself.
//
// # What is over
//
// When a round of a loop ends, its rows go with the same commit: they are found by the whole key of each
// node and a range of paths, in which what follows a path with a dot stands together. Where nothing else
// goes on, that is still one round trip: the statements behind the first do something for completions only
// whose row this transaction has written as completed. Such rows stay until the next clear, or the end: by
// them an unknown commit is settled. A list that grows is stored by its elements, behind the value of its
// slot, and read where somebody wants it.
//
// # Calling off
//
// An error that leads out of a spread or parallel calls its siblings off. Such a completion is alone of its
// instance in its transaction, which begins with locks on all runs of the region that have not completed,
// its own among them, in key order. So it waits for what is being completed there, and then locks what that
// has queued, without waiting, until there is nothing new; whoever completes a sibling afterwards finds no
// row, and is stale. What a run that goes on calls off, of which nothing was known before, is locked without
// waiting as well; where that cannot be, the transaction begins again with those locks. Rows of completed
// runs are removed out of order, and so without waiting for anybody.
//
// # Leases
//
// A leased row is due again when its lease is over. Claiming takes what is due, so it is also the
// reclaim; each lease has a new token from one sequence, which fences the holder before.
//
// # Unknown commits
//
// If a connection dies at COMMIT, the open completions are given new tokens first, so that the lost
// commit can no longer take place; what is not open any more is looked up; the rest is committed again.
//
// # The end of an instance
//
// An instance that completes takes its rows with it, if nothing else can be at work on it. One that
// fails, is canceled, or can end while branches still run, is marked untidy, and Sweep removes its rows in
// key order: completions that overlap with the end may still add some.
package push
