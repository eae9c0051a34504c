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
// What the core needs is read in one query. Its plan is committed by one set-based statement, which
// carries any number of completions: mark the task completed if the token is the current one and the
// instance runs (otherwise the completion is stale, and nothing of it takes place), put values into
// inboxes, count arrivals, enqueue what became ready — leased at once to the engine that asks, as far
// as it has room —, and end instances. If an arrival made a counter equal to what is required, the
// barrier's own plan is made and committed in the same transaction, and so on until none opens:
// completion, barrier and output are one commit. A counter that would pass its required count is
// refused by the database, and the completion that did it is taken out and answered by itself.
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
// fails, or that can end while branches still run, is marked untidy, and Sweep removes its rows in key
// order: completions that overlap with the end may still add some.
package push
