// Package memory is the backend without durability: the whole store lives in this process. It is what
// the simulator and tests run on, the twin that the Postgres backends are compared with, and the upper
// bound of what a backend can be. What it does can be observed in the same way as on Postgres.
//
// # The protocol
//
// An instance lives in one shard and owns all that is stored for it: its node runs, its readiness
// counters, its inbox (values by slot, and elements by barrier) and its end. One mutex serialises all
// calls, so a call is a transaction at the strictest isolation.
//
// A node run has one row from its enqueue until it is cleared or its instance ends, which is how a second
// enqueue of the same run is noticed (I1). The row is in one of four states:
//
//	ready ──claim or grant──► leased ──completion──► done
//	  ▲                         │  │
//	  └───── lease expired ─────┘  └──failure, to be tried again──► waiting ──due──► ready
//
// A sleep begins as waiting, and is done as soon as somebody completes it, with nothing to run.
//
// A lease carries a token from a counter that never goes back. A completion is applied only with the
// row's current token; ending a lease in any way takes the token from the row, or puts a greater one
// there, so an older holder is answered Stale. A lease that has expired but that nobody has claimed
// since is still the current one: its completion applies.
//
// Completing is one step: the row is done, the core plans the event, and the plan's values, counters
// and enqueues are stored. A counter that reaches its required count opens its barrier; that event, that
// of a run which the plan resumes, and that of the next element of a spread with a limit are planned and
// applied in the same step, and so on until nothing follows. Then goes what the plans clear: rows, counters
// and values of a loop's round that is over, or of branches that an error has cancelled, with the leases
// that stand there. An arrival beyond the required count is refused with backend.ErrOverflow (I2). What is
// refused leaves nothing behind and does not disturb the rest of its batch. The end of an instance, be it
// by itself or by Cancel, removes everything but its result at once, so there is nothing for Sweep to do.
//
// # Crashes
//
// Every change records its inverse (package state). A call that fails, for whatever reason, plays the inverses back
// and leaves the store as it was. Options.Crash is asked at named points within the calls; an error
// from it stands for a process or a connection that dies there: before the commit the call fails and
// nothing of it happened, after it the call fails with backend.ErrUnknown although all of it happened.
// Open gives another backend on the same store, as a process that starts after the crash would have.
// Dump prints what is stored, sorted, for comparing two stores or one store with itself.
package memory
