// Package trial disturbs a system that pulley did not write, through its adapter, and judges it by what it promises.
//
// # A run
//
// A run has a Postgres server of its own, an empty database and folder in it, and some processes of the adapter, each of which
// reaches the database through a wire of its own. Run goes through these phases:
//
//  1. A process creates what the system needs; all begin to work.
//  2. A closed load keeps instances of the workloads in flight, submitted through the processes in turn.
//  3. Faults of a plan happen, one after another, while the load continues. An exhaustive run also goes to every message of every
//     kind of transaction that the system makes, which the wires find: they know a transaction by its first statement. Before and
//     after, the system is left alone for a while, in which it is measured what its tasks cost.
//  4. The load ends. Nothing is disturbed any more, and open instances are looked at until all have ended, or nothing at all has
//     happened for much longer than the promise to recover allows (judge.WaitMS).
//  5. Every instance is looked at, the processes stop, and package judge holds the history against the promises.
//
// # Verdicts
//
// One run shows a violation, but Confirm calls it one: it repeats the case, and takes faults away as long as the violation
// remains. A system that lost something because a machine was slow does not lose it again without a fault.
package trial
