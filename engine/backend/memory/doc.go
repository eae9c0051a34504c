// Package memory is the backend without durability: the whole store is in this process. The simulator and tests run on it, the
// Postgres backends are compared with it, and it shows the upper bound of a backend's speed.
//
// # The protocol
//
// An instance is in one shard and owns its node runs, readiness counters, inbox (values by slot, and elements by barrier) and
// end. One mutex serialises all calls, so a call is a transaction at the strictest isolation.
//
// A node run has one row from its enqueue until it is cleared or its instance ends; so a second enqueue of the same run is
// detected (I1). The row is in one of four states:
//
//	ready ──claim or grant──► leased ──completion──► done
//	  ▲                         │  │
//	  └───── lease expired ─────┘  └──failure, to be retried──► waiting ──due──► ready
//
// A sleep begins as waiting, and is completed without an action.
//
// A lease has a token from a counter that never goes back. A completion is applied only with the row's current token. Any end
// of a lease removes or raises the token, so an older holder is answered Stale. An expired lease that nobody has claimed since
// is still current: its completion is applied.
//
// A completion is one step: the row is done, the core plans the event, and the plan's values, counters and enqueues are stored.
// A counter that reaches its required count opens its barrier. That event, a resumed run and the next element of a limited
// spread are planned and applied in the same step, until nothing follows. Then the plans' clears remove rows, counters and
// values of a loop's finished round, or of branches that a caught failure has cancelled, with their leases. An arrival beyond
// the required count is refused with backend.ErrOverflow (I2). A refused completion leaves nothing behind and does not disturb
// the rest of its batch. The end of an instance, by itself or by Cancel, removes everything but its result at once, so Sweep
// has nothing to do.
//
// # Crashes
//
// Every change records its inverse (package state). A call that fails plays the inverses back and leaves the store as it was.
// Options.Crash is called at named points; its error stands for the death of a process or a connection there. Before the commit
// the call fails and nothing was applied; after it the call fails with backend.ErrUnknown although it was applied.
package memory
