// Command temporal is an adapter through which pulley drives Temporal 1.32.1, a workflow engine, on Postgres, with version 1.50.0 of its
// SDK for Go. These are the newest that go 1.26.8 builds together.
//
// go build in this folder makes it. The server has 1,700 packages: when nothing is cached, that takes five minutes of processor time, which
// are three to ten minutes on two cores, and the program has 200 MB. So this is a module of its own.
//
// # Where the server runs
//
// Each process of the adapter is a whole server, with all four services (frontend, history, matching and Temporal's own worker), and
// a worker and a client that speak to its frontend. The servers of a run are one cluster: they share the database, find each other
// through it, and form rings over the loopback interface. So what hits a process hits a server, a worker and a client at once,
// and the others take over its history shards and its task queues, and its tasks when these time out. What Temporal is asked here is
// whether the whole system loses work, not whether its server survives the death of a worker.
//
// A server's two stores, for state and for visibility, are two schemas of the one database, by search_path: Temporal's guide has a
// database for each, and both have a table schema_version. The tables and the namespace are made with the server's own tools. The
// ports of a server are free ones, so a process that is started again is a new member of the cluster, as a new container is.
//
// The configuration is that of the server for development on Postgres, and each setting below is Temporal's default unless it says
// something else. Rate limits, which protect clusters of many users, are raised. There are 5 connections for each service to the
// tables of state and 2 to those of visibility; in use are about 16 for each process under load. Temporal's default of 20 for each store and
// service would be more than a Postgres has in its own default configuration.
//
// # What is the workflow
//
// An instance is a workflow, whose id is the instance's. Its code starts an activity for each task when the futures of those that it
// needs are ready, with their values as arguments. Rounds are a loop in that code, and when Temporal suggests it, the workflow continues
// as new. An activity's start-to-close timeout, which Temporal wants to be longer than the activity can take, is its task's time and
// the setting activity_ms. A failed or lost attempt is repeated by the retry policy. There are no heartbeats, since tasks are short.
//
// # Ends
//
// The process that started a workflow waits for its result with the SDK's long poll, as a program that needs the result does. It waits
// for as many at once as result_waits says, in the order of their starts; one that takes longer than 20 s goes to the end of the queue.
// When the process dies, nobody reports its ends, and only look tells: it describes the workflow, and gets the result of one
// that is closed. Visibility, which lags behind, is not asked.
//
// # What is promised, and where Temporal's documentation says it
//
//   - submit durable: a workflow execution is durable, https://docs.temporal.io/workflow-execution, and its history is in the database
//     when the start is answered, https://docs.temporal.io/encyclopedia/event-history/event-history-go
//   - resubmit once: the id reuse policy is Reject Duplicate, and the SDK returns the execution that has the id,
//     https://docs.temporal.io/workflow-execution/workflowid-runid
//   - execution at least once: an activity may be executed again if its worker dies before the result is stored,
//     https://docs.temporal.io/activity-definition#idempotency
//   - results once: the workflow sees the result that is in its history, and no other; code executes "effectively once and to completion",
//     https://docs.temporal.io/temporal
//   - attempts: an activity is retried without bound unless max_attempts sets one, https://docs.temporal.io/encyclopedia/retry-policies.
//     Workflows are not retried.
//   - recovers_ms: a lost activity is repeated after its start-to-close timeout and the interval of the retry policy,
//     https://docs.temporal.io/encyclopedia/detecting-activity-failures; a lost workflow task after 10 s,
//     https://docs.temporal.io/encyclopedia/detecting-workflow-failures#workflow-task-timeout, and before that it may have waited 5 s for
//     a worker that remembered the workflow, https://docs.temporal.io/sticky-execution. Temporal names no time for the takeover of
//     shards: 10 s is the adapter's assumption, from the 5 s after which a member of a ring that does not answer is given up.
//     recovers_ms is the takeover and the longer one of the two.
//   - There is no order: task queues have partitions, and any worker may take the next task.
//
// Two things that last longer are not in recovers_ms:
//
//   - A server that is paused, or whose packets are lost, refuses no pings and answers none. Each of its four members costs those that
//     ping it seconds, and while the rings look for it, requests that it should answer wait. In pulley's runs all work stood still
//     until it continued, 45 s and more, with two servers and with three. A killed server is given up after 7 s.
//   - A server that starts when all others have just died looks for them until their heartbeats in the database are 20 s old. The
//     constant joinWithin makes that a little shorter. https://github.com/temporalio/temporal/issues/9987 is about more of this.
//
// A server that stops in order leaves its rows among the members, and one that starts in the next 20 s looks for them just so. Servers of a
// comparison follow each other that closely, which those of a production do not, so a process that stops in order removes its rows.
//
// A server ends its process if it cannot find its database when it starts, as Temporal's does, and then a new one has to be started.
package main
