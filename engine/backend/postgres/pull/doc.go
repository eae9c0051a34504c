// Package pull is the baseline for the pushing designs: a ledger of node runs and results, and scans of it for what has become
// runnable. A completion stores only the end of its own node run, and its cost grows with its instance, which a scan reads again:
// that is what the comparison is about. Leases, renewal, retries and resolution of lost commits are those of package pgstore.
//
// # A completion
//
// One set-based statement writes any number of ends of attempts into the ledger: result, final failure, or time of the retry. A
// completion is stale, and changes nothing, if its token is not current or its instance has ended.
//
// # A scan
//
// In the same transaction a scan reads all ledger rows of the completions' instances. An advisory lock excludes other scans of
// the shard, which would find the same node runs. Runnable node runs are entered into the ledger, leased at once as far as the
// caller has capacity; sleeps are entered as due later; and instances are ended. No timer, no second commit and at most two round
// trips come between a completion and what follows, and many completions share one scan: the baseline is as good as the design
// allows.
//
// What may have been committed without a scan is found by the next claim, which scans all running instances: after the backend
// was opened, and after corrupt data. Sweep does it for what other processes left.
//
// # scan=app
//
// One query reads the ledger rows. The core replays the completions in their order, from the input; node runs that it wants and
// the ledger lacks are runnable. Values, counters and arguments exist only in the replay's memory: nothing but input and results
// is written. So completed node runs stay in the ledger until the instance ends, and each round of a loop costs more than the one
// before. An instance of n nodes costs in the order of n² rows, less if many completions share a scan.
//
// # scan=sql
//
// A completion also writes what it did to values (inbox) and each step towards another node run (arrivals). One anti-join finds
// the runs with enough steps that are not in the ledger; it too reads all steps of the instances. Opened barriers, limited
// spreads that may start another element, and traversals that stopped to read are passed to the core, and the query is repeated
// until there are none. Large arguments stay in the inbox and are read when a run is leased. The commit that ends a loop's round
// deletes its rows.
//
// # Cancelling
//
// When an error leaves a spread or parallel and is caught, its completion deletes the rows of the sibling runs, which fences
// them, and in scan=sql the steps towards them. Concurrent completions wait for the scan lock: they are committed before, with
// their own scan, or are stale. Other completions of the instance in the same call are committed before it or after it. A
// completion that a scan=app replay finds cancelled by an earlier one is stale as well.
//
// # Corrupt data
//
// Since completions share scans, one instance could fail them for all. A scan ends an instance whose ledger the core cannot
// follow, or of which a row is corrupt, with a LedgerError. If the server refuses a scan's data, scans of halves of the instances
// find the one at fault; it is ended, and the scan is repeated. Instances of a workflow that this process cannot read, perhaps of
// a later version, are neither scanned nor claimed by it.
//
// # Leases, tokens, unknown commits
//
// Leases and tokens are as in package push. A scan locks rows of cancelled runs, or of an ended instance, after completed ones,
// out of key order. So only a scan, one per shard at a time, may hold one row and wait for another. A lost COMMIT is resolved by
// the transaction's id, unless the server has crashed since; then the outcome is unknown. If it was applied, its leases are
// returned and claimed, since the caller may not know them all.
//
// # The end of an instance
//
// Only scans add rows to the ledger, so the scan that ends an instance removes all of them, and nothing needs cleanup. It waits
// for lease renewals; later completions find no row. Cancelling does the same.
package pull
