// Package pull is the baseline that pushing designs are compared with: a ledger of node runs and their
// results, and cycles that scan it again for what has become runnable.
//
// # A completion
//
// The end of an attempt is written into the ledger by one set-based statement, which carries any number
// of them: the result or the final failure, or the time of the next attempt. A completion whose token is
// not the current one, or whose instance has ended, is stale and changes nothing.
//
// # A cycle
//
// After every commit, and before every claim, a cycle looks at the running instances of the shard, all of
// them, since the design does not know which have changed. Cycles of a shard exclude one another by an
// advisory lock; completions do not wait for them. What a cycle finds runnable goes into the ledger,
// leased at once as far as the caller has room, and instances that reached their end are ended, in the
// same transaction. No timer stands between a completion and its cycle, and many completions share one:
// the baseline is as good as the design allows. A sleep goes into the ledger as well, due when it is over.
//
// # scan=app
//
// One query reads every row that those instances have in the ledger, and the core is led through the
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
// not in the ledger. It, too, goes over all steps of all running instances, in the database. A barrier that
// has opened, a limited spread that may begin another element, a traversal that stopped to read a long list:
// these are passed to the core, and the query is asked again until there is none. Large arguments stay in the
// inbox and are read when a run is handed out.
//
// When a round of a loop ends, its rows go in the commit that ends it, from all three tables, but for the
// ledger row of that completion, which tells what became of the commit; it goes with the next round.
//
// # Calling off
//
// An error that is caught outside of a spread or parallel calls off what runs beside it: the completion with
// the error removes the rows of such runs, which fences them, and in scan=sql what leads there as well. It takes
// the lock of cycles first, so that none is about to enter what goes, and of several errors one comes first; and
// it waits for completions that are changing rows there. In scan=app those stay in the ledger, since all that
// has completed does, and have no effect in the replay, which calls off the same. Completions of an instance that
// come in one call with such an error, or with one that ends the instance, are committed before it or after
// the cycle that follows.
//
// # What is spoilt
//
// Cycles are shared, so that one instance could fail them for all. One whose ledger the core cannot follow,
// or of which a row makes no sense, is ended with an error of the type LedgerError, in the cycle that finds
// it. Where the server refuses the data of a cycle, cycles over halves of the instances find the one that
// brings it; that is ended, and the cycle made again. Instances of a workflow that this process cannot read,
// which a later version may have written, rest: they are neither looked at nor claimed by it.
//
// # Leases, tokens, unknown commits
//
// They are as in package push. A cycle whose commit is lost is simply followed by the next; what it leased
// comes back when the leases end.
//
// # The end of an instance
//
// Only cycles add rows to the ledger, so the one that ends an instance removes all there is: it waits
// for completions that are changing rows, and any later one finds none. Canceling takes the lock of cycles
// and does the same.
package pull
