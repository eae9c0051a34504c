// Package workertest has the contract that every executor of actions keeps, as a test suite.
//
// An executor is whatever gives [worker.Func]s: Go functions, a process for each attempt, a pool of long-lived workers, jobs behind
// an API. Its test gives the suite a [Harness], which makes an action for each [Behaviour]: what the action does is the harness'
// matter, such as a script with the behaviour's name as its argument. [Run] runs the actions through a [worker.Registry], as an
// engine does, and holds what comes back against the contract:
//
//   - an attempt ends, soon after its context does, whatever its action does;
//   - it gives the action's result, or a failure with a type that says what happened;
//   - nothing that the action started outlives it for long.
//
// An executor that cannot have a behaviour says so, with the reason; the suite lists these.
package workertest
