// Package pull simulates the tables and statements of the design pull, for both kinds of scan.
//
// The design's code is the real one, on a pgstore.Host. It does not note its plans, because its scans replay the ledger or query
// the database. The model plans by itself and is compared with the ledger's node runs and attempts; with scan=sql also with the
// stored values. A row stands for the scan lock.
package pull
