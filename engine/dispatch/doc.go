// Package dispatch decides, without doing anything itself, what an engine does next: which tasks
// start, which completions are committed together, when to look for work, which leases to renew.
//
// A Machine is a state machine without goroutine, clock or randomness. Its owner tells it the time
// and what happened, and carries out the commands that come back:
//
//	for {
//		commands := machine.Step(now, events...)  // decide
//		for each command: begin it                // act; its end is a later event
//		wait for an event, or until machine.Next()
//	}
//
// The same code therefore runs behind the engine's goroutines, in a simulator's virtual time and in
// a test that lists its events one by one. The same events at the same times give the same
// commands, in the same order.
//
// # A task's way
//
//	granted ──► waiting ──► running ──► offered ──► committing ──► gone
//	   │           │           │           ▲             │
//	   │           │           │           ├── error ────┘
//	   └── sleep ──│───────────│───────────┘
//	               └───────────┴──► given up (lease lost, instance over, drained)
//
// A task is granted by a reply: of a claim, or of the commit or submission that made it ready, so
// that a sequential hop needs no poll. It waits until a slot is free, runs, and its completion is
// offered to the next commit of its shard. A completion whose commit failed is offered again for as
// long as it takes: it carries the fencing token, so that the store tells a repetition from a first
// time. A completion that the store refuses for good is replaced, once, by a failure that says so;
// otherwise the task would be delivered and refused for ever. A sleep is offered as soon as it is
// granted: it was granted because it is over.
//
// # Poison
//
// An attempt may kill whoever runs it: then its lease runs out, and somebody else gets it. Each task says how often its attempt was
// delivered. One that comes more often than MaxDeliveries is not run but offered with a failure of type WorkerDied, which retry and
// except match like any other; a retry is a new attempt, whose deliveries begin anew. A worker that dies beside a living engine
// (Done.Died) is the same case: the lease is made to end after a pause, so that a claim delivers the attempt again, here or
// elsewhere, or, at the last delivery, the failure is offered at once. What an engine returns when it drains was no delivery.
//
// # Strays
//
// A task that runs longer than its node's timeout is to return, as is one that was cancelled. One that
// has not, a Grace later, is a stray. Where its timeout passed, that it did is offered in its place, which
// fences it like any completion; then it is cancelled. Its slot is free for others, unless there are
// already as many strays as slots: what is beyond that keeps its slot until some return. So a task that
// hangs for ever costs others nothing, and however many hang, no more than twice Slots are under way.
//
// # Bounds
//
//   - Running tasks never exceed Slots, nor do strays that have no slot. No grant asks for more than
//     free slots and Prefetch, with what other calls in flight may still bring counted as taken.
//   - Tasks held in all states, with those that grants in flight may bring, never exceed
//     Slots + Prefetch + Pending.
//   - Each shard has at most one claim, one submission, one extension and one commit in flight; with
//     a Batch of one, commits of a shard are bound by Committers alone, as in the literal design with
//     its several connections.
//   - Commits and submissions in flight never exceed Committers; nor do claims; one sweep and one
//     notification at a time.
//   - Submissions that wait never exceed Queue; the owner asks Room before it hands one over.
//
// # Group commit
//
// What is offered while a shard's commit is in flight rides the next one, up to Batch and
// BatchBytes. On an idle engine a completion is committed at once. But a commit that would be small beside
// what others are writing waits for one of those to be answered, and grows meanwhile: it would take its share
// of a store that may serve other engines as well, for little. Each time others go instead it counts double,
// so that it has its turn, and it goes after 20 ms in any case.
// After a failed commit the next one takes half as many, so that one that cannot be committed ends up
// alone and lets its neighbours pass.
//
// # Leases
//
// A lease that has used a third of its time is renewed, all of a shard in one call. A task whose
// lease is lost, or has run out on the local clock (which is never behind the store's), is
// cancelled, and what it returns is dropped. A completion that was already offered is not dropped
// when the time runs out: the token decides.
//
// # Clocks
//
// Clocks of different machines are never compared. The store counts a lease by its own clock from when it gives it; the
// machine counts it by the engine's from before it asked for it. With clocks that go at the same rate the engine's view
// therefore ends first, by as long as the request was under way. Nothing is added to that: an engine whose clock is slower
// than the store's by r believes in a lease of length L for r·L longer, less that time. Of a lease of 10 s, 100 parts of a
// million are 1 ms. Clocks that are disciplined while the engine runs may differ by up to 500; a machine that was suspended
// is like one whose clock stood still.
//
// What that can do: where no extension has got through for the rest of a lease, two engines may run the same attempt for that
// long (I11 in the strict sense). It can do no more. Which completion counts, the token decides, in the store and by no clock
// (I3), and so it is where a clock jumps. An action that must not run twice at once must see to that itself, as it must where an
// attempt is cut off and goes on. A clock that is faster costs an extension a little earlier, and nothing else.
//
// The simulation (package sim/world) has engines' clocks go wrong by up to 200 parts of a million, and takes it for
// a violation where two engines hold a run for longer than 250 of a lease; where it has the store's clock jump, it holds them
// against the tokens only.
//
// # Looking for work
//
// A shard is claimed from, as soon as there is room, when a reply said that more is ready, when
// another process notified, when a task waiting for its time is due, and otherwise every Poll. What
// is due is no better than what is ready: while the engine is full, a sleep that is over waits for room.
package dispatch
