// Command dbos is an adapter through which pulley drives DBOS Transact for Go 1.8.0 (github.com/dbos-inc/dbos-transact-golang), a
// library that runs durable workflows on Postgres.
//
// go build in this folder makes it, in about a minute when nothing is cached.
//
// # What is DBOS's
//
// An instance is a workflow, whose id is the instance's. Submit enqueues it on a queue, so that any process takes it, with as many
// workflows at a time in a process as it has slots (WithWorkerConcurrency). A task is a step. A workflow starts its tasks with
// dbos.Go, DBOS's way to run steps at the same time (https://docs.dbos.dev/golang/tutorials/workflow-tutorial#concurrent-steps). The
// order of these calls must not depend on what ends first, since a step is recognised by its number. So tasks are started in the order
// of their depths in the graph, each when those that it needs have values, and a task may wait for one of a lesser depth that it does
// not need. dbos.Select does not help: it takes the results of the steps that it does not select, too. Rounds are a loop. A step
// that fails is retried by DBOS (WithStepMaxRetries). DBOS does not tell a step the number of its attempt, so the step counts.
//
// With start=direct, Submit calls dbos.RunWorkflow for each instance in the process that is asked, and the end comes from the handle: it is
// the way of a service that executes what it accepts, and faster where processes have work enough of their own.
//
// The values that a task needs are results of steps, which DBOS hands to the workflow after it has stored them.
//
// # What is hand-made
//
// DBOS bounds workflows, and not the steps of one workflow. So a step first takes one of the process's slots.
//
// DBOS has no call to enqueue many workflows, so Submit calls dbos.Enqueue for each in one transaction (WithEnqueueTransaction).
//
// DBOS tells the holder of a handle of an end, by asking once a second for each. So a process in which a workflow's function returned
// asks ten times a second for all of these together with dbos.ListWorkflows, and reports those that have ended. A process that starts
// also reports what an earlier one of its number ended in the last minute.
//
// # Processes that die
//
// Without DBOS Conductor, a service that is not part of the library, nobody takes over the workflows that a dead process was executing:
// "When an application with an executor ID restarts, it only recovers pending workflows assigned to that executor ID"
// (https://docs.dbos.dev/production/workflow-recovery). Pulley starts a process anew with the same number, which is its executor id, and
// the application's version is fixed, as recovery asks for. The same holds for a process that stops: its workflows wait for the next.
// So nothing is promised of recovers_ms. A workflow that was recovered more than a hundred times fails (WithMaxRecoveryAttempts).
//
// # What is promised, and where DBOS's documentation says it
//
//   - submit durable, execution at least once, results once: "Workflows always run to completion. […] Steps are tried at least once
//     but are never re-executed after they complete", https://docs.dbos.dev/golang/tutorials/workflow-tutorial#workflow-guarantees;
//     "The workflow will be persisted with ENQUEUED status until picked up by a DBOS process",
//     https://pkg.go.dev/github.com/dbos-inc/dbos-transact-golang/dbos#Enqueue
//   - resubmit once: "if a workflow is called multiple times with the same ID, it executes only once",
//     https://docs.dbos.dev/golang/tutorials/workflow-tutorial#workflow-ids-and-idempotency
//   - attempts: the step's retries and one, https://docs.dbos.dev/golang/tutorials/step-tutorial#configurable-retries. An outage of
//     Postgres does not count: "transient database errors are retried (indefinitely […])",
//     https://docs.dbos.dev/golang/reference/configuration#system-database-startup
//   - There is no order. A queue is first in, first out (https://docs.dbos.dev/golang/tutorials/queue-tutorial) by the time of a
//     workflow's transaction, which those of one Submit have in common.
//
// # What runs show
//
// DBOS keeps its promises when processes are killed, paused and stopped, and when sessions of Postgres are ended by an administrator. It
// breaks the promise submit when a connection breaks at certain statements: a workflow whose dequeue is committed, and whose result is
// not stored, waits for a restart of its process; one whose step's result is not stored fails. docs/findings.md tells more, and the
// program in folder probe shows it on DBOS alone.
//
// # Settings
//
// They are DBOS's defaults, but for the retries of a step, which are none by default. With a queue that is looked at once a second, a
// process starts as many short workflows a second as it has slots; the documentation's example has poll_ms=100.
package main
