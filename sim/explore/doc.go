// Package explore plays designs of the engine in seeded worlds of their own, and looks for a schedule that breaks an
// invariant.
//
// # A world
//
// One goroutine, one generator, virtual time, one calendar. In it are engines, each a real dispatch.Machine with a design
// as its client; the database of package db, on which the designs are; a network between them, whose messages take time,
// overtake each other on different connections, and are lost with theirs; and clients that submit and cancel. What
// happens is drawn beforehand as a Case, faults included; the seed decides only what nobody would write down.
//
// # Designs
//
// The journal is the real one: package journal stands on a host that is simulated here. Its calls, and what it does beside
// them, are threads: coroutines of which one runs at a time, and only when the world has it run. Each of its statements,
// known by its text, is written anew for the simulated database: the same rows, locks, conditions and order of parts, and
// what another's commit between a look and a lock leads to.
//
// Push is what the real one does around the core: the same statements in the same order, with the same guards,
// locks, fences and ways to settle a lost commit, and the real plan.Program between them. It is written as what follows
// each answer of the server, since nothing may wait; its functions have the names of those that they stand for.
//
// Errors are those of the driver, so that the real functions of package postgres tell what they mean.
//
// # What is held against it
//
// Statements leave notes in their transactions, and at each commit a twin of each instance that is concerned obeys them:
// plans on maps, without locks, transactions or batches: those that the design says it has made, or, of the journal, plans of
// its own, and what the owner of a shard remembers is held against it. It holds the values that were read against its own (I4, I6),
// counts arrivals and enqueues (I1, I2), tokens and attempts (I3, I11), what goes on and what must (I2), ends (I7); and then
// what is committed of the instance against itself, row by row. What actions are called with and how instances end is held
// against the reference interpreter (I4, I7); what engines are told, against what was committed (I3, I8); who runs what
// and until when, against each other (I11). At the end faults are over: everything must end within its bound (I9), nothing
// may be left (I10). Transactions never wait for each other in a circle, where the design says so (D5).
//
// A transaction that has begun before another ended its instance may still be committed after that; what it adds is
// swept.
//
// # Against reality
//
// The tests play the same operations, one after the other, on the simulated database and on Postgres: submissions, claims,
// completions, some of them stale, extensions, sweeps and cancels, with leases that run out, clients that die, servers that
// crash, and replies that are lost after the server has done what it was asked, at each round trip of a call. After each
// operation both clients must have been told the same, in as many round trips, and the same rows must be committed, but
// for times and for what tokens are. A row that is changed behind the back of the simulated client is noticed in every table.
// Not simulated are two statements of a sweep: the one that puts leases that are over first, and the one that forgets old marks.
//
// # Searching
//
// A Search plays one seed after the other on all processors. SeedsPerProgram of them share a random program, of those that
// the language is tested with, since making one ready costs more than a world. A violation is made smaller by Shrink, and
// shown by Replay: in words, and as a space–time diagram. Planted bugs (Bugs) show that they would be found.
package explore
