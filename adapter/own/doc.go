// Package own lets pulley's own designs come through the door of other systems: [System] is an adapter for one of them.
//
// # Programs
//
// A workload becomes a program, as its author would write it with package graph ([Program]): each task is an action of the name
// task, which comes after the tasks that it needs. Its arguments are the instance, the workload, the task and the values of its
// needs. A value that the workload declares large is an argument of its own, which designs pass by reference; small ones share a
// list. The end comes after every task that nothing else needs. Rounds are a loop, which keeps the last round's result.
//
// An instance's UUID is a hash of its id, and its result is the list of its id and its value. So every process can tell its end.
//
// # Retries
//
// A task that shall fail gives a failure of the type Scripted. Every task has a retry policy without a backoff and practically without
// a bound, for that type and for WorkerDied: the designs promise to never give up. Any other failure is a mistake of this package,
// and fails the instance.
//
// # What is promised
//
// By the invariants of package engine: submit durable (I8), resubmit once (Engine.Submit), execution at least once and results once
// (I3, I8). A dead process's work continues when its leases end. Then the next poll of any process finds it. The lease of a shard of
// the journal is an eighth longer. So recovers_ms is the lease, an eighth of it, and two polls. Nothing is promised of the order.
//
// # Ends
//
// The process whose commit ends an instance reports it. If the answer to the commit is lost, or the process dies, look tells.
package own
