// Package pool runs actions in long-lived workers: processes in any language that speak the worker protocol, which
// docs/worker-protocol.md defines.
//
// # The life of a pool
//
// [New] checks the configuration, [Pool.Start] starts the processes and returns when the first has said hello, [Pool.Actions] and
// [Pool.Func] give what they can do, and [Pool.Close] lets them finish and ends them. Processes stand in groups of a
// procgroup.Supervisor, so that none outlives its worker, the pool or the engine, by SIGKILL or otherwise.
//
// Each process has a goroutine that starts it, waits for what happens, and starts the next; three more read its standard output
// and error and write its standard input. The desk, behind one lock, decides which attempt goes to which worker; it does nothing
// else. Attempts run in the goroutines of their callers, which wait for the end.
//
// # What becomes of an attempt
//
// It goes to the worker with most room, which never has more than its slots; others wait, in their order. A result and a failure come
// from the worker. Where its context ends, the worker is told to cancel, and killed if it has not answered after Config.Grace; until
// then the attempt's caller waits, so that a second attempt does not run beside the first. Results that are no JSON in UTF-8 fail with
// ResultError, and lines that are too long with LimitExceeded.
//
// # When a worker ends
//
// A worker ends by itself, or is killed: it was silent although it sends heartbeats, closed its output, wrote an answer that nobody can
// read, did not answer a cancel, or came to one of Config.Limits. It is replaced after a pause that grows, with jitter, from 100 ms to
// Config.PauseMost. What it answered before
// counts. Each other attempt ends with a worker.DiedError, by which the engine delivers it again, a bounded number of times; the count
// stands in the store. With a Config.MaxDeliveries the pool does so itself, before attempts that wait, and fails the attempt with
// WorkerDied at the bound. Which of the attempts killed the worker is unknown; so the last delivery of one is alone in its
// worker (the fifth, where the engine counts). A worker that is killed because one attempt did not answer a cancel counts for none of
// the others, which the pool delivers again.
//
// A worker that says bye finishes what it has, and is replaced at once. One whose start fails Config.Starts times in a row is given
// up for a while; when all are, attempts fail with StartError, and one of them in each Config.PauseMost
// has a start tried again.
package pool
