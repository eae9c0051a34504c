// Package eager is the first generation of pushing, on Postgres: a row stands for every node from the start of
// an instance, each completion pushes its effects into the rows of the nodes behind it, and a node is ready
// when as many of its predecessors have completed as it requires.
//
// # What makes it this design
//
// - A node's row exists from the instance's start, or from the moment when the number of a spread's elements is known; it
// holds the node's counter, its flags, its lease and its arguments. No other design has rows for what has not become ready.
// - A completion writes into the rows of the nodes behind it. A node is ready when its counter says so: nothing is enqueued,
// and a claim finds ready rows by a partial index over the same table.
// - The rows of a loop's body are reset at the end of a round and serve the next one, where the other designs make a new row
// for each node run.
//
// Leases, renewal, retries, the resolution of lost commits and cleanup are those of package postgres.
//
// # Tables
//
// node_ready_state has a row for each node of a running instance, with its counter, its flags and the
// lease of its run; for a node in a spread one for each element, made when the number of elements becomes
// known. A row that is ready has its arguments. node_pending_context holds what was pushed to nodes that have
// not run, the elements of aggregates. instance_eval_context holds variables, and behind a variable what a loop has
// appended to it; a row each, since one document per instance would be a row that every completion locks,
// and grow with all that was ever assigned. Which round a loop is in, the rows of its body say. Ready nodes are
// found by a query over a partial index.
//
// # Rounds
//
// The rows of a loop's body are used by one round after another, as in the published design. A row is found
// by its node and its place, which is the run's path without the rounds of loops; it says itself for which
// path it stands. When a round ends, the rows of the body are reset in the same commit, and what the round
// put elsewhere goes. Nothing is taken for granted about what was reset: a row that still stands for another
// round, and a run that is queued already, are refused by the table. A token is of one lease, so that what
// a worker of an earlier round offers is stale.
//
// Inline nodes are stepped in memory by package plan, the heads of loops among them; their rows are there
// and stay as they were made.
//
// # A completion
//
// One transaction: the rows of the completions are locked and their tokens compared, and what the core needs
// is read; then the plans are made, and applied by one set-based statement, with the COMMIT behind it in the
// same round trip if nothing can follow. Where an arrival makes a counter full, or a plan is to be resumed,
// what follows is read, planned and applied in the same transaction, until nothing does. Of events that
// meet in a transaction, one that ends the instance or calls others off counts as the first, and those are
// stale.
//
// # Locks
//
// Rows are locked in key order (D5): first those of completions, then the barriers at which they arrive. What
// cancels runs that may be at work begins with locks on all of them and on its own, in that order, and so
// waits for what is being completed there; what that has made ready is then locked without waiting, until a
// statement has got hold of all that it saw. What follows from events locks behind what those hold, and waits for nobody: where another
// has such a row, the transaction begins again, with it in its place in the order. Rows that are reset or removed
// are not waited for either. Where a round of a loop can end while runs of it are at work, a row that was waited for may stand
// for the next round by then; it stays locked, out of the order. There no row is waited for longer than a commit takes, and a
// transaction that would have to begins again.
//
// # Unknown commits
//
// A row that stands for the next round cannot tell whether the round before was committed. The transaction's
// id can: it is known before the COMMIT is sent, and the server is asked what became of it. Only where it did
// not are applied are the completions committed again.
//
// # The end of an instance
//
// An instance that ends takes its rows with it, if nothing else is at work on it. Where that is not known from its workflow, the
// last statement of the transaction looks for runs of it that are not completed: whoever is at work on the instance has one. If there
// are any, the instance is marked with needs_cleanup, as a cancelled one is. Its rows are removed in key order, in the background, since
// that can be long; what that does not come to, Sweep finds by the mark: completions that overlap with the end may still add some.
package eager
