// Package oracle holds the history of a run against the numbered invariants.
//
// # Histories and oracles
//
// A [History] is what recorders saw of a run: submissions, enqueues, arrivals at barriers, leases, their
// extensions, starts, completions and their answers, ends, lookups, the deaths of processes, and inspections
// of the store. [Check] holds it against the numbered invariants. A node run may be cancelled, when an error
// is caught beside it, and an instance canceled; neither has to come to the end that it would have had:
//
//	I1   a node run is enqueued exactly once, and handed out once at a time
//	I2   counters do not overflow, and fill exactly when the run is enqueued
//	I3   exactly one completion is applied for good, with the token that is current
//	I4   actions receive the arguments that the reference gives them
//	I5   an action starts after everything that the graph puts before it
//	I6   aggregates are in order and complete
//	I7   an instance ends once, as the reference says, and stays ended
//	I8   what was acknowledged stays: nothing that is done is given out again, no instance is forgotten
//	I9   every instance ends
//	I10  nothing is left of an instance that has ended
//	I11  while an owner may believe in its lease, no other has one
//	I12  what is meant to go wrong harms nobody else
//
// I2 and I6 need to see into a store, as a simulation does; from outside, what they are about shows in I4, I5
// and I7. [CountQueue] counts what went in and came out, by other code.
//
// # What nobody knows
//
// A call is recorded before it is made and when it is answered. Without an answer, or with one that is
// unknown, it may have happened or not, at any time until its process is [Gone]; and it may have leased what
// nobody ever hears of. Nothing is concluded from either case alone. The deliveries of a node run are right
// if they can have happened one after the other, each at a moment between its call and its answer, with those
// answers; where that cannot be seen in the order of the answers, Porcupine searches all orders, for as long as
// Rules.SearchTime says. What it has not decided by then is inconclusive.
//
// A lease is believed in from the moment at which its owner hears of it until the owner's own view of it ends:
// at its UntilNS, or when it offers a completion that may be applied, gives the lease back, hears that it is
// lost, or dies. These times are of one clock, [MachineClock], so that I11 can be judged among the processes
// of one machine only.
//
// An oracle raises no false alarm over the order of lines: two processes that write their own
// histories, merged by time, may have recorded a lease and the answer that made it possible the other
// way round. Where a recorder knows the order of the commits, [Rules].CommitOrder makes the oracles
// stricter: there, a completion without an answer did not happen. And none passes for want of evidence: a
// history without the kinds of events that an oracle needs, or in which nothing bears on it, is
// [Inconclusive], which is not a pass.
package oracle
