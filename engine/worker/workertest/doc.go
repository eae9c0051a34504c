// Package workertest is a test suite of the contract of executors of actions.
//
// An executor is what provides [worker.Func]s: Go functions, a process for each attempt, a pool of long-lived workers, jobs
// behind an API. Its test gives the suite a [Harness], which makes an action for each [Behaviour], such as a script with the
// behaviour's name as its argument. [Run] runs the actions through a [worker.Registry], as an engine does, and checks the
// contract:
//
//   - an attempt ends soon after its context does, whatever its action does;
//   - it returns the action's result, or a failure whose type says what happened;
//   - nothing that the action started outlives it for long.
//
// An executor states which behaviours it cannot have, and why; the suite lists these.
package workertest
