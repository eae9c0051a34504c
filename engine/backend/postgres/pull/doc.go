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
// the baseline is as good as the design allows.
//
// With scan=app, one query reads every row that those instances have in the ledger, and the core is led
// through the completions in their order, from the input on; what it wants to run and the ledger does not
// have is runnable. With n nodes an instance costs rows in the order of n² where completions come one by
// one, and less where many share a cycle.
//
// With scan=sql, a completion also writes down what it made of the scope (inbox) and each step that it
// made towards another node run (arrivals); one anti-join then finds the runs towards which all steps
// have been made and that are not in the ledger. It, too, goes over all steps of all running instances,
// in the database. A barrier that has opened is passed to the core, and the query asked again until
// there is none.
//
// # Leases, tokens, unknown commits
//
// They are as in package push. A cycle whose commit is lost is simply followed by the next.
//
// # The end of an instance
//
// Only cycles add rows to the ledger, so the one that ends an instance removes all there is: it waits
// for completions that are changing rows, and any later one finds none.
package pull
