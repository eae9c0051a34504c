// Command river is an adapter through which pulley drives River 0.51.2, a job queue on Postgres, with the driver riverpgxv5.
//
// go build in this folder makes it, in a minute or two when nothing is cached.
//
// # Graphs
//
// River without River Pro runs jobs, and has no graphs of them. So the graphs are made by hand, as River's documentation
// recommends it for work in several steps: a task is a job, and one transaction stores its value, inserts the jobs that can follow
// with InsertManyTx, and completes it with JobCompleteTx. A job's arguments have the values of the tasks that it needs. Values and
// instances are rows of two tables of the adapter's own; a completion locks its instance's row, so that of two needs that end at
// once the second sees the first.
//
// River tells workers to expect that a job runs more than once. So with the setting guard=on a task's first value counts: the row of
// a value is inserted ON CONFLICT DO NOTHING, and a transaction that finds one does nothing but complete its job. With guard=off the
// adapter relies on JobCompleteTx alone, whose documentation says that after the commit the job will never rerun: the last value
// replaces others. It is there to look at River closely, since the guard hides how often JobCompleteTx commits twice:
//
//   - Two executions overlap if a job was rescued from a process that was alive. River documents that, and both may commit.
//   - An execution that fails late, such as one whose process stood still, makes the job available again while another attempt is at
//     work, since River stores a failure without comparing attempts. That attempt's JobCompleteTx then changes nothing and returns
//     neither an error nor a completed job, so its transaction commits, and the job runs once more after it. This is not what the
//     documentation says. A worker that does not store its effects once can look at the state of the job that JobCompleteTx returns.
//
// # Instances of one task
//
// With complete=tx they are graphs of one task. With complete=batch they are plain jobs: the value is the job's output
// (https://riverqueue.com/docs/recorded-output), River's batch completer completes many jobs in one statement, and the end comes by
// River's completion event (https://riverqueue.com/docs/subscriptions), which follows the job's own end by up to 50 ms. River does not say
// which of two attempts' output stays, so results are not promised then.
//
// # What is promised, and where River's documentation says it
//
//   - submit durable, execution at least once: "Once a job is committed to the database, River will not lose track of it and will
//     ensure that it is executed", https://riverqueue.com/docs/reliable-workers
//   - resubmit once: the row of an instance and its first jobs are one transaction, and an id that is there inserts nothing,
//     https://riverqueue.com/docs/transactional-enqueueing
//   - results once: https://riverqueue.com/docs/transactional-job-completion
//   - attempts: MaxAttempts, https://riverqueue.com/docs/job-retries
//   - recovers_ms: a job of a dead process is rescued when it has been running for RescueStuckJobsAfter,
//     https://pkg.go.dev/github.com/riverqueue/river#Config. The leader's rescuer looks every 30 s, its scheduler every 5 s, and
//     neither can be set, https://riverqueue.com/docs/maintenance-services; a new leader begins with a look. River names no bound
//     for all of it; recovers_ms is the sum.
//
// # Ends
//
// The process that commits an instance's last transaction reports its end after the commit. If the commit's answer is lost, look
// tells. That a job was discarded comes from River's subscription (https://riverqueue.com/docs/subscriptions), or from look if the
// rescuer did it, which tells nobody.
package main
