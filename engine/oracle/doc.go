// Package oracle checks the history of a run against the numbered invariants.
//
// # Histories and oracles
//
// A [History] is what recorders saw of a run: submissions, enqueues, arrivals at barriers, leases, renewals, starts,
// completions and their answers, ends, lookups, deaths of processes, and inspections of the store. [Check] compares it with the
// invariants. A caught failure may cancel a node run, and an instance may be cancelled; neither then has to reach its own end:
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
// I2 and I6 need to see into a store, as a simulation does; from outside, their violations show in I4, I5 and I7. [CountQueue]
// counts what went in and came out, with separate code.
//
// # What nobody knows
//
// A call is recorded before it is made and when it is answered. Without an answer, or with an unknown one, it may have been
// applied or not, at any time until its process is [SessionsClosed], and it may have leased something without an owner's
// knowledge. Nothing is concluded from either case alone. The deliveries of a node run are right if they can have happened one
// after the other, each at a moment between its call and its answer, with those answers. If the order of the answers does not
// show that, Porcupine searches all orders, within Rules.SearchTime. Anything undecided by then is inconclusive.
//
// An owner relies on its lease from when it receives it until its own view of it ends: at UntilNS, or when it offers a
// completion that may be applied, returns the lease, learns that it is lost, or dies. These times are on one clock,
// [MachineClock], so I11 can only be checked among the processes of one machine.
//
// The order of lines raises no false alarm: in two merged histories a lease may come before the answer that made it possible.
// If a recorder knows the order of the commits, [Rules].CommitOrder makes the oracles stricter: then a completion without an
// answer was not applied. A history without the kinds of events that an oracle needs, or without anything to check, is
// [Inconclusive], which is not a pass.
package oracle
