// Package chaos runs scenarios on engines in processes of their own while things go wrong, and decides
// whether anything that must hold did not.
//
// # A run
//
// A [cases.Case] is all of it as data: the scenarios, the backend, how many engines, and the plan of faults. [Run]
// gives it a Postgres of its own; each engine is a process ([process.Engine] is its main function) that reaches the
// server by a wire of its own. Every process writes what it sees into a pipe, a line for each event, before
// it goes on: of a process that is killed all is known but what it had not said.
//
//  1. Load: instances are kept in flight until enough have ended and every engine has worked.
//     Where faults of the plan go from message to message, engines stop, are killed and start before the first:
//     the messages that came by then are the baseline.
//  2. Faults: the plan, one after the other, under the same load. A fault whose moment never came is tried
//     again, and so is one that is to make statements fail, and of whose SQLSTATEs no engine got one. What goes
//     from message to message goes on until it was at all of the baseline.
//  3. Liveness: nothing more is submitted, and every instance must end within the lease, two sweeps, the
//     longest call and its own work.
//  4. Inspection: every instance is read once more, the engines stop, the store is swept, and what it still
//     holds is counted.
//  5. Judgement: the histories of all processes together are held against the invariants.
//
// # Where the engines are
//
// They are children of the run's process, or, if the case says so, each is in a container of its own, which
// package hosts makes: then a host can be paused, killed and taken off its network as well. An engine's only way to the
// server is its wire, which listens where the host reaches it. What it says comes by a pipe that needs no network. All
// kinds of faults happen to both.
//
// # The verdict
//
// [Fail] where an invariant is violated or an engine's process ended by itself. [Inconclusive] where the run
// shows less than was asked for: a planned fault did not happen, or not at every message at which it should have,
// the load was not there, an oracle had nothing to judge, or the world broke. [Pass] else. A failing case can be
// made smaller with [Shrink], is saved as a file, and can be run again; since the moments are those of real
// processes, it need not fail each time.
//
// How work came back after faults is measured beside that, and held against what is promised of it
// (Result.RecoveryMS); the verdict does not go by it, since it depends on what else the machine does.
package chaos
