// Command goworkflows is an adapter through which pulley drives go-workflows 1.4.1 (github.com/cschleiden/go-workflows), a library of
// durable workflows, with its Postgres backend.
//
// go build in this folder makes it, in about a minute when nothing is cached.
//
// # What is go-workflows'
//
// An instance is a workflow instance, whose id is the instance's. A task is an activity, whose inputs the workflow passes: they are
// results of activities, which the workflow gets from its history. Each task has a coroutine of the workflow (workflow.Go), which waits
// for the tasks that it needs and then executes the activity, so that as much happens at once as the graph allows. Rounds are a loop. A
// workflow may have 10,000 events (WithMaxHistorySize), of which a task has two or three. A task that fails is retried by the workflow
// (RetryOptions), and activity.Attempt tells its number. A process has one worker, with as many activities at once as slots
// (MaxParallelActivityTasks). It looks for work every 200 ms while there is none. An activity's context ends when a heartbeat cannot
// be stored, such as when a connection breaks; activities here continue, since an error of theirs would count as a failed attempt.
//
// The backend is made with host, port, user, password and database; the rest of a DSN counts for nothing, and it uses no TLS.
//
// # What is hand-made
//
// CreateWorkflowInstance compares an id with those of active instances only, and without a lock; each call makes another execution.
// Nothing says that it may be repeated when its answer was lost. So the backend is wrapped
// (https://cschleiden.github.io/go-workflows/#custom-implementation): the wrapper gives each instance the same execution id, and the
// unique index of table instances refuses a second one.
//
// The client asks for one instance at a time, and needs an execution id that it keeps for nobody. So Look and the ends read the tables
// that the documentation lists (https://cschleiden.github.io/go-workflows/#postgresql). A process in which a workflow's function returned
// asks for the ends of all these together: after a millisecond at first, then less and less often, as the client does, and at least ten
// times a second. A process that starts reports the ends of the last minute, which a
// dead one may not have reported.
//
// # What is promised, and where the documentation says it
//
//   - submit durable: the backend "is responsible for persisting the workflow events",
//     https://github.com/cschleiden/go-workflows/blob/v1.4.1/README.md#backend
//   - resubmit once: by the wrapper, and nothing of the documentation's.
//   - execution at least once: "If the activity task is not completed by that timeframe, it's considered abandoned and another worker
//     might pick it up", https://pkg.go.dev/github.com/cschleiden/go-workflows@v1.4.1/backend#Options. So it is no more than that,
//     although the README says of activities that "they will be executed only once".
//   - results once: "… and the result is persisted", https://github.com/cschleiden/go-workflows/blob/v1.4.1/README.md#activities
//   - attempts: MaxAttempts, https://cschleiden.github.io/go-workflows/#retries
//   - recovers_ms: the sum of the times after which others continue what a dead process had: a lock of a workflow or of an activity
//     (backend#Options, as above), and the time in which a workflow stays with its last process (WithStickyTimeout,
//     https://cschleiden.github.io/go-workflows/#backends); and three looks.
//   - There is no order: the backend takes any task that is ready.
//
// # Settings
//
// Locks, heartbeats and the cache of workflows have a twentieth of go-workflows' times, for which no run waits. The cache must forget
// a workflow before its lock ends, as it does by default: if the end of a workflow task cannot be stored, the cached workflow is
// ahead of its history, and refuses to continue. Polls and attempts have the defaults. There is a bound on connections, since there is
// none by default.
package main
