// Package postgres is what the designs on Postgres share: the pool, migrations, workflow definitions,
// instances, wake-ups between processes, and how errors are read.
//
// Every design keeps its tables in a schema of its own, so that several can stand in one database.
// Migrations are embedded and numbered; each runs once, in a transaction, under an advisory lock.
// Every key begins with the shard, and every statement on the hot path names exactly one (D11).
//
// # Plans that stay right
//
// The statements of a design are set-based: the same text carries one completion or five hundred. A
// planner that trusts statistics finds a scan of a shard cheaper than ten lookups as long as the tables
// are small, keeps that plan, and so makes every completion read every row once they are not. So no
// statement leaves the choice: rows are looked up one by one, by their whole key, in LATERAL subqueries
// that OFFSET 0 or FOR UPDATE keep from being merged into a join, in the order of the arrays, which is
// then also the order of row locks (D5); and they are changed by the address (ctid) that the lookup
// found. Membership is tested with IN … IS TRUE, which is hashed and never becomes a join. Sequential
// and bitmap scans and just-in-time compilation are switched off for the same reason.
//
// # Hosts
//
// A [Store] stands on a [Host]: a pool of connections, which is asked with the driver's own types, connections that
// listen, and a clock. Open makes one of Postgres and the machine. The simulator has a host of its own, on which all of
// this package runs, and the designs on it: statements reach it as they are, known by their text ([SQL]), alone or in a
// batch, and whatever waits does so in a call of the host. Nothing here or in a design that is to be simulated tells time,
// waits, or begins a goroutine but by the clock.
//
// # What a design embeds
//
// A [Base], or a [SweptBase], answers the calls that do not depend on the design. [Store.Submit], [Halve] and [Outcomes] share out what a call brings to
// transactions, and answer it; how one of them is made is the design's.
//
// # Leases
//
// A design describes the table in which its node runs wait and are leased ([Table]); a [Queue] has the statements that claim,
// renew, release and look for leases there, the same for all designs. What others are in the way of is tried again by one loop
// ([Store.Retry]), which is bounded; a commit whose reply was lost is resolved before it is tried again ([Store.Commit]).
//
// # Errors
//
// A lost connection around COMMIT leaves open what happened (D7): [Unconfirmed] says so, and the
// design reads back. [Poisoned] says that the data of a call is at fault, and not its time.
package postgres
