// Package pgsim simulates Postgres for designs: pools, connections, batches and notifications in the driver's terms, on the
// tables and transactions of package db.
//
// A statement is identified by its text and reimplemented for the simulated database, with the same rows, locks, conditions and
// order of parts, and the same effects of a commit between a read and a lock. This package has the statements that designs share
// (including those of a Queue and of cleanup) and the parts that several are built from. Each design has a package below this
// one, with its tables, its statements and their comparison with the judge's models. Errors are the driver's, so that package
// postgres classifies them as real ones.
package pgsim
