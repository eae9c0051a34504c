// Package pull is the baseline that pushing designs are compared with: a ledger of node runs and their
// results, and cycles that scan it again for what has become runnable.
//
// # What makes it this design
//
// - A completion stores only the node run's own end. It computes nothing for the nodes behind it, and no counter or queue is
// kept for them.
// - What has become runnable is found by reading: a cycle scans all that the ledger has of the completions' instances, in
// the program (scan=app) or with one query (scan=sql), and enters what is missing. The cost of a completion grows with the
// size of its instance, which is what the comparison with pushing designs is about.
// - Cycles of a shard exclude each other, since two would find the same node run.
//
// Leases, renewal, retries and the resolution of lost commits are those of package postgres. There is nothing to clean up:
// the cycle that ends an instance removes its rows.
//
// # A completion
//
// The end of an attempt is written into the ledger by one set-based statement, which carries any number
// of them: the result or the final failure, or the time of the next attempt. A completion whose token is
// not the current one, or whose instance has ended, is stale and changes nothing.
//
// # A cycle
//
// In the same transaction a cycle looks again at all that the completions' instances have in the ledger, since the
// design keeps nothing of what it saw before. It is what it costs that grows with the workflow: of other instances
// nothing is read. Transactions of a shard exclude one another by an advisory lock. What a cycle finds runnable goes
// into the ledger, leased at once as far as the caller has room, and instances that reached their end are ended. No
// timer, no second commit and no more than two round trips stand between a completion and what follows from it, and
// many completions share one cycle: the baseline is as good as the design allows. A sleep goes into the ledger as
// well, due when it is over.
//
// What may have been committed without its cycle is looked at by the next claim, over all running instances; that is
// what was there when the backend was opened, and what an instance with corrupt data stood beside. Sweep does it for
// what other processes left.
//
// # scan=app
//
// One query reads every row that the instances have in the ledger, and the core is led through the
// completions in their order, from the input on; what it wants to run and the ledger does not have is
// runnable. With n nodes an instance costs rows in the order of n² where completions come one by one, and
// less where many share a cycle. All state but the ledger is in the memory of the replay: values, counters,
// what is appended and what is cleared. Arguments, too, are what the replay says, so that nothing but input
// and results is ever written.
//
// The price is the published one: what has completed stays in the ledger until the instance ends, since it
// is what is replayed. A loop's ledger grows with its iterations, and so does the cost of each of them.
//
// # scan=sql
//
// A completion also writes down what it made of the values (inbox) and each step that it made towards another
// node run (arrivals); one anti-join then finds the runs towards which all steps have been made and that are
// not in the ledger. It, too, goes over all steps of the instances, in the database. A barrier that
// has opened, a limited spread that may begin another element, a traversal that stopped to read a long list:
// these are passed to the core, and the query is asked again until there is none. Large arguments stay in the
// inbox and are read when a run is handed out.
//
// When a round of a loop ends, its rows go in the commit that ends it, from all three tables.
//
// # Calling off
//
// An error that is caught outside of a spread or parallel cancels what runs beside it: the completion with
// the error removes the rows of such runs, which fences them, and in scan=sql what leads there as well. Whatever is
// completed beside it waits for the lock of cycles: it comes before, with its own cycle, or is stale. Completions of
// an instance that come in one call with such an error, or with one that ends the instance, are committed before it
// or after it; those that scan=app finds in its replay to come after one that calls them off are stale as well.
//
// # What is corrupt
//
// Cycles are shared, so that one instance could fail them for all. One whose ledger the core cannot follow,
// or of which a row makes no sense, is ended with an error of the type LedgerError, in the cycle that finds
// it. Where the server refuses the data of a cycle, cycles over halves of the instances find the one that
// brings it; that is ended, and the cycle made again. Instances of a workflow that this process cannot read,
// which a later version may have written, rest: they are neither looked at nor claimed by it.
//
// # Leases, tokens, unknown commits
//
// Leases and tokens are as in package push. A cycle locks rows of runs that it cancels, or that its instance leaves, behind those
// that have been completed, in no order with these: nobody may have one row and wait for another but cycles, of which a shard has
// one at a time. Where a COMMIT is lost, the server is asked by the transaction's id
// what became of it, unless it has crashed since: then nobody knows, which is the answer. Of one that was applied not all leases may have been heard of; they are given up, and claimed.
//
// # The end of an instance
//
// Only cycles add rows to the ledger, so the one that ends an instance removes all there is: it waits
// for whoever is extending a lease there, and any later completion finds no row. Canceling does the same.
package pull
