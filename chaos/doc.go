// Package chaos runs scenarios on engines in processes of their own under faults, and decides whether every invariant held.
//
// # A run
//
// A [cases.Case] describes a run as data: the scenarios, the backend, the engines and the plan of faults. [Run] starts a Postgres
// of its own. Each engine is a process ([process.Engine] is its main function) that reaches the server through a wire of its own.
// Each process logs an event per line to a pipe before it acts, so that a killed process loses only what it had not logged.
//
//  1. Load: instances are kept in flight until enough have ended and every engine has worked. If the plan has exhaustive faults,
//     engines first stop, are killed and start; the messages seen until then are the baseline.
//  2. Faults: the plan is applied, one fault after another, under the same load. A fault is retried if its moment never came, or
//     if it is to fail statements and none of its SQLSTATEs reached an engine. Exhaustive faults continue until they were at
//     every message of the baseline.
//  3. Liveness: nothing more is submitted, and every instance must end within the lease, two sweeps, the longest call and its own
//     work.
//  4. Inspection: every instance is read again, the engines stop, the store is swept, and leftovers are counted.
//  5. Judgement: the merged histories of all processes are checked against the invariants.
//
// # Where engines run
//
// Engines are children of the run's process or, if the case says so, each in a container that package hosts makes; hosts can also
// be paused, killed and disconnected. An engine's only way to the server is its wire, which listens where the engine reaches it.
// Its log uses a pipe, which needs no network. All kinds of faults can hit both.
//
// # The verdict
//
// [Fail]: an invariant is violated, or an engine's process ended by itself. [Inconclusive]: the run shows less than was asked
// for, because a planned fault did not happen, or not at every message that it should have reached, the load was missing, an
// oracle had nothing to judge, or the world broke. [Pass]: otherwise. A failing case can be reduced with [Shrink]; it is saved as
// a file and can be run again. Since its moments are those of real processes, it need not fail each time.
//
// A run also measures how work recovered after faults and compares that with what is promised (Result.RecoveryMS). The verdict
// ignores it, because it depends on what else the machine does.
package chaos
