// Package pgsim is Postgres as designs see it in a simulated world: pools, connections, batches and notifications in the terms of the
// driver, on the tables and transactions of package db.
//
// A statement is known by its text, and written anew for the simulated database: the same rows, locks, conditions and order of parts,
// and what another's commit between a look and a lock leads to. Here are those that designs share, and what the statements of several
// are made of; each design has a package of its own below this one, with its tables, its statements, and what holds its tables
// against the judge's models. What is the same statement of package postgres in several designs is one here, too: those of a Queue, and
// of a cleanup. Errors are those of the driver, so that the real functions of package postgres tell what they mean.
package pgsim
