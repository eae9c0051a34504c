// Package push is the unified readiness model on Postgres: a node run is queued when the number of
// its predecessors that completed equals the number it requires, and each completion pushes its
// effects forward in one transaction.
//
// # What makes it this design
//
// - A node run has a row in the queue only while it is ready and not completed. What waits for one predecessor has no row
// at all, and what waits for several has one counter.
// - A completion carries its effects forward itself: values into inboxes, arrivals into counters, and into the queue each
// node run whose counter becomes full, all in the transaction that removes the completed row.
// - One set-based statement commits any number of completions, in one round trip where no barrier is involved.
// - A commit leaves a mark that says which completions were stale, so that a lost COMMIT is resolved for each of them.
//
// Leases, renewal, retries and cleanup are those of package postgres.
//
// # Tables
//
// queue has a row for each node run that is ready and not completed, with its arguments and its fencing
// token; readiness a counter for each barrier, and only for nodes that can wait; inbox the values that
// something downstream will read; elements those that arrived at an aggregate, of which one commit's share a
// row; instances one row each, touched at the beginning and the end only. Keys begin with the shard. commits
// has the last commit of each place in which a backend commits; see below.
//
// # A completion
//
// What the core needs is read in one query, or none; a value that several completions need is read once. Its
// plan is committed by one set-based statement, which carries any number of completions: take the task's row
// away if the token is the current one and the instance runs (otherwise the completion is stale, and nothing
// of it is applied), put values into inboxes, count arrivals, enqueue what became ready — leased at once to
// the engine that asks, as far as it has room; a sleep becomes due later and is leased then —, and end
// instances. A small commit takes a statement that has no parts but those its events need.
//
// Where no event arrives at a barrier, that is one round trip, which commits by itself. If an arrival makes a
// counter equal to what is required, lets the next element of a spread begin, or a traversal has stopped to
// read, that has a plan of its own, which is committed in the same transaction, and so on until nothing goes
// on: completion, barrier and output are one commit, and the last of its plans goes with COMMIT. A counter
// that would pass its required count is refused by the database, and the completion that did it is taken out
// and answered by itself.
//
// # Plans of statements
//
// Statements look rows up by their whole key, one by one, and change them by their address. A plain join could
// be planned from the table's side where its statistics say that it is small, or empty, and a session keeps
// its plans. Nor is anything sorted for which there is an index in order: so a claim reads what it claims.
//
// # What is over
//
// When a round of a loop ends, its values and counters go with the same commit: they are found by the whole key
// of each node and a range of paths, in which what follows a path with a dot stands together. Where nothing
// else goes on, that is still one round trip: the statements behind the first do something for completions
// only that the transaction's own mark says was applied. A list that grows is stored by its elements, behind
// the value of its slot, and read where somebody wants it.
//
// # Calling off
//
// An error that leads out of a spread or parallel calls its siblings off. Such a completion is alone of its
// instance in its transaction, which begins with locks on all runs of the region, its own among them, in key
// order. So it waits for what is being completed there, and then locks what that has queued, without waiting,
// until it has got hold of all that it sees; whoever completes a sibling afterwards finds no row, and is stale. What a run
// that goes on cancels, of which nothing was known before, is locked without waiting as well; where that
// cannot be, the transaction begins again with those locks.
//
// # The order of locks
//
// A statement locks the queue, then counters, then instances, each in the order of keys, so that two never wait for each other
// in a circle. What goes on in later rounds of a transaction is not known when it begins, and its counters may come before
// those that the transaction holds. There it waits for each for some ten milliseconds at most, after which Postgres gives the
// transaction up; it begins again with all counters that it met locked first, in order, and waits as shortly from then on.
//
// # Leases
//
// A leased row is due again when its lease is over. Claiming takes what is due, so it is also the
// reclaim; each lease has a new token from one sequence, which fences the holder before.
//
// # Several engines
//
// Every engine works on every shard. Where several listen, each prefers a part of the shards for the instances that it
// submits, if it may choose the id (backend.Placer): what is going on is then committed by as many commits as one engine
// would make, and not by as many times more. Nothing depends on it.
//
// # Unknown commits
//
// A transaction that completes something writes a mark: a number, and which of the completions it was offered
// were stale. The row belongs to a place in which the backend makes one commit after the other, and is changed
// by each; it costs a commit one row, and its completions next to nothing. If a connection dies at COMMIT, the
// open completions are given new tokens first, which waits for a commit that is in flight, and after which the
// lost commit can no longer are applied; then the mark says whether it has, and what of it; the rest is
// committed again. A commit that comes late finds no row with its tokens, and leaves no mark. The place of a transaction whose
// connection was lost before its COMMIT is not used again: the server may still be at it, and whoever held that mark could wait
// for it in a circle.
//
// # The end of an instance
//
// An instance that ends takes its rows with it, if nothing else is at work on it. Where that is not known from its workflow, the
// last statement of the transaction looks for its node runs: whoever is at work on the instance has one in the queue. If there are any, the
// instance is marked with needs_cleanup, as a cancelled one is. Its rows are removed in key order, in the background, since that can
// be long and wait for others; what that does not come to, Sweep finds by the mark: completions that overlap with the end may
// still add some.
package push
