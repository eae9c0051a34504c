// Package eager is the first generation of the push model on Postgres: every node has a row from the start of an instance, each
// completion pushes its effects into the rows of the nodes behind it, and a node is ready when as many of its predecessors have
// completed as it requires. Leases, renewal, retries, resolution of lost commits and cleanup are those of package pgstore.
//
// # Tables
//
// node_ready_state has a row for each node, from the instance's start or once a spread's number of elements is known: counter,
// flags, lease and arguments. Nothing is enqueued: claims find ready rows by a partial index. node_pending_context has the
// elements that were pushed to aggregates. instance_eval_context has variables, and what loops appended, in rows of their own:
// one document per instance would be locked by every completion, and grow with all that was ever assigned.
//
// # Rounds
//
// The rows of a loop's body serve one round after another, as in the published design. A row's key is the node and its place, the
// run's path without rounds of loops; its path says which round it serves. When a round ends, the same commit resets its rows and
// deletes its values. The table refuses an event for another round, and a node run that is queued already, so a row that was not
// reset is noticed. Each lease has its own token, so that completions of an earlier round are stale.
//
// Package plan steps inline nodes, such as loop heads, in memory; their rows never change.
//
// # A completion
//
// One transaction locks the completions' rows, compares tokens and reads what the core needs. Then one set-based statement
// applies the plans, in one round trip with COMMIT if nothing can follow. Continuations, from a full counter or a traversal that
// stopped to read, are planned and applied in the same transaction until none follows. An event that ends the instance or cancels
// others counts as the first; those are stale.
//
// # Locks
//
// Rows are locked in key order (D5): completions, then the barriers at which they arrive. A transaction that cancels node runs
// first locks them and its own, in order, and so waits for completions there. Then it locks what those have made ready, without
// waiting, until it locks all that it sees. Continuations lock out of order, and rows are reset or removed out of order, so these
// locks are not waited for: if one is held, the transaction is retried, and locks the continuations' rows first. Where a loop's
// round can end with open node runs, a row that was waited for may serve the next round by then, and stays locked, out of order.
// There a lock timeout, longer than a commit, bounds each wait, and the transaction is retried.
//
// # Unknown commits
//
// A row that serves the next round cannot tell whether the round before was committed. The transaction's id can: it is known
// before COMMIT is sent, and the server reports its status. Completions are committed again only if it was not committed.
//
// # The end of an instance
//
// An instance that ends takes its rows with it if no other node run is open. If its workflow leaves that open, the last statement
// looks for open node runs; if there are any, the instance gets needs_cleanup, as a cancelled one does. Its rows are then removed
// in key order, in the background. Completions that overlap with the end may add more; Sweep finds them by needs_cleanup.
package eager
