// Package pgstore is what the designs on Postgres share: connections, migrations, workflow definitions, instances, notifications
// and errors. It is internal, because a change of it must not break programs that embed the engine; what they use is in package
// postgres.
//
// Every design has its own schema, so that several can share a database. Each migration runs once, in a transaction, under an
// advisory lock. Every key begins with the shard, and every statement on the hot path names one shard (D11).
//
// # Plans that stay right
//
// The statements of a design are set-based: the same text carries one completion or five hundred. While tables are small, a
// planner that trusts statistics prefers a scan of the shard to ten lookups; it keeps that plan, and later every completion reads
// every row. So no statement leaves a choice. Rows are looked up one by one, by their whole key, in LATERAL subqueries that
// OFFSET 0 or FOR UPDATE keep from becoming a join, in the order of the arrays, which is also the order of row locks (D5). They
// are changed by the ctid that the lookup found. Membership is tested with IN … IS TRUE, which is hashed and never becomes a
// join. Sequential scans, bitmap scans and JIT compilation are off for the same reason.
//
// # Hosts
//
// A [Store] stands on a [Host]: a pool, listening connections and a clock. Open makes one of Postgres and the machine. The
// simulator has its own, which knows statements by their text ([SQL]). Simulated code must use the host's clock to tell time, to
// wait and to start goroutines.
//
// # What a design embeds
//
// A [Base] or [SweptBase] answers the calls that do not depend on the design. [Store.Submit], [Halve] and [Outcomes] divide a
// call into transactions and answer it; the design makes the transactions.
//
// # Leases
//
// A design describes its table of node runs and leases ([Table]); a [Queue] has the statements to claim, renew, return and read
// leases. One bounded loop ([Store.Retry]) retries what others block. A commit whose reply was lost is resolved before it is
// retried ([Store.Commit]).
//
// # Errors
//
// A connection lost around COMMIT leaves the outcome open (D7): [Unconfirmed] reports that. [Poisoned] reports that the data of a
// call is at fault.
package pgstore
