// Package dispatch decides what an engine does next: which tasks start, which completions share a commit, when to claim work,
// which leases to renew. It acts on nothing itself.
//
// A Machine is a state machine without goroutine, clock or randomness. Its owner passes it the time and events, and executes
// its commands:
//
//	for {
//		commands := machine.Step(now, events...)  // decide
//		for each command: begin it                // act; its end is a later event
//		wait for an event, or until machine.Next()
//	}
//
// So the same code runs behind the engine's goroutines, in a simulator's virtual time, and in a test that lists its events. The
// same events at the same times give the same commands, in the same order.
//
// # A task's way
//
//	granted ──► waiting ──► running ──► offered ──► committing ──► removed
//	   │           │           │           ▲             │
//	   │           │           │           ├── error ────┘
//	   └── sleep ──│───────────│───────────┘
//	               └───────────┴──► lost (lease expired, instance ended, drained)
//
// A reply grants a task: that of a claim, or of the commit or submission that made it ready, so that a sequential hop needs no
// poll. The task waits for a slot, runs, and its completion is offered to the next commit of its shard. A completion whose
// commit failed is offered again until it succeeds: its token lets the store recognise a repetition. A completion that the
// store refuses is replaced, once, by a failure; otherwise the task would be delivered and refused for ever. A sleep is granted
// when it is due, and offered at once.
//
// # Poison
//
// An attempt may kill every holder: then its lease expires, and another engine gets it. Each task carries its number of
// deliveries. Beyond MaxDeliveries it does not run, but is offered with a failure of type WorkerDied, which retry and except
// match like any other; a retry is a new attempt with its own count. A worker that dies while its engine lives (Done.Died) is
// the same case: the lease is shortened to a pause, after which a claim delivers the attempt again, here or elsewhere. After
// the last delivery the failure is offered at once. What a draining engine returns was no delivery.
//
// # Abandoned tasks
//
// A task is to return when its node's timeout passes, or when it is cancelled. If it has not after another Grace, it is
// abandoned. After a timeout, a Timeout failure is offered in its place, which fences it like any completion, and the task is
// cancelled. Its slot is free, unless as many tasks as slots are abandoned already. So a task that hangs costs others nothing,
// and at most twice Slots tasks run.
//
// # Bounds
//
//   - Running tasks never exceed Slots, nor do abandoned ones without a slot. No grant asks for more than free slots and
//     Prefetch; what other calls in flight may still bring counts as taken.
//   - Tasks in all states, with what grants in flight may bring, never exceed Slots + Prefetch + Pending.
//   - Each shard has at most one claim, one submission, one renewal and one commit in flight, or two commits with Overlap; with a
//     Batch of one, only Committers bounds the commits of a shard.
//   - Commits and submissions in flight never exceed Committers; nor do claims. One sweep and one notification are in flight.
//   - Waiting submissions never exceed Queue; the owner checks SubmitCapacity first.
//
// # Group commit
//
// What is offered during a shard's commit goes with the next one, up to Batch and BatchBytes. On an idle engine a completion
// is committed at once. Where a reply has just brought several tasks, or others wait already, the next commit lingers for
// them, for a quarter of the time that the call took and 2 ms at most, and rarely where that was too short: otherwise the
// instances of a shard would divide into crowds that commit in turn. A commit that is small compared with the writes in
// flight lingers until one of them is answered, and grows: a store that may serve other engines too should not spend a write
// on it. Each write that goes first doubles its weight, and it goes after 20 ms in any case. A large commit may overlap with
// one of the same shard if nothing else is being written (Config.Overlap): otherwise an instance with many node runs at a
// time, whose shard is one, would leave the store idle while its completions are planned. After a failed commit the next one
// takes half as many, so that a completion that cannot be committed ends up alone.
//
// # Leases
//
// A lease is renewed when a third of its time has passed, all of a shard in one call. A task whose lease is lost, or has
// expired on the local clock (which is never behind the store's), is cancelled, and its result is dropped. An offered
// completion is kept when the lease expires: the token decides.
//
// # Clocks
//
// Clocks of different machines are never compared. The store counts a lease on its clock from the grant; the machine counts it
// on the engine's from before the request. At equal rates the engine's view ends first, by the duration of the request. No
// margin is added: an engine whose clock is slower by the part r relies on a lease of length L for r·L too long, less that
// duration; for 10 s and 100 ppm that is 1 ms. Disciplined clocks may differ by up to 500 ppm; a suspended machine is like a
// stopped clock.
//
// The consequence: if no renewal gets through for the rest of a lease, two engines may run the same attempt for that long (I11
// in the strict sense). The token still decides in the store which completion counts, by no clock (I3), also if a clock jumps.
// An action that must not run twice at once must ensure that itself, as it must when an attempt is cut off and runs on. A
// faster clock only costs an earlier renewal.
//
// The simulation (package sim/world) lets engines' clocks deviate by up to 200 ppm, and reports a violation if two engines hold
// a run for longer than 250 ppm of a lease. If the store's clock jumps, it only checks the tokens.
//
// # Priority
//
// A program's priority is worth a head start (backend.PriorityStep). Tasks that wait for a slot start in the order of their arrival less
// their head starts, as the store hands them out. Where urgent work is known to wait in a shard, since a claim brought nothing else and left
// more, or since a write of this engine left it there, that shard is claimed from, and writes lease at once only what is as urgent:
// otherwise the successors of what runs would take the capacity. Other shards are claimed from every Poll, for what is as urgent, or has
// waited for so long.
//
// # Fairness
//
// With Fair, the claims of a backlog are by turns of workflows, by turns of instances, and by time, one after the other: round robin
// (Silberschatz, Galvin, Gagne, Operating System Concepts), a third of the capacity that claims fill for each. What a write makes ready
// may still be leased at once: an instance that has begun continues, and the turns decide which work begins next.
//
// # Claiming work
//
// With capacity, a shard is claimed from when a reply reported more, when another process notified, when a waiting task is due,
// and otherwise every Poll. Due tasks have no priority over ready ones: while the engine is full, a due sleep waits.
package dispatch
