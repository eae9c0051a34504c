// Package pool runs actions in long-lived workers: processes in any language that speak the worker protocol, which
// docs/worker-protocol.md defines.
//
// # The lifecycle of a pool
//
// [New] checks the configuration, [Pool.Start] starts the processes and returns when the first has said hello, [Pool.Actions]
// and [Pool.Func] return what they can do, and [Pool.Close] lets them finish and ends them. Processes are in groups of a
// procgroup.Supervisor, so that none outlives its worker, the pool or the engine, even after SIGKILL.
//
// Each process has a goroutine that starts it, waits for events, and starts the next; three more read its standard output and
// error and write its standard input. The desk, behind one lock, only decides which attempt goes to which worker. Attempts run
// in the goroutines of their callers, which wait for the end.
//
// # The course of an attempt
//
// An attempt goes to the worker with most room, which never has more than its slots; others wait, in order. Results and
// failures come from the worker. When an attempt's context ends, the worker is asked to cancel, and killed if it has not
// answered after Config.Grace. Until then the caller waits, so that a second attempt does not run in parallel. Results that are
// no JSON in UTF-8 fail with ResultError, and too long lines with LimitExceeded.
//
// # When a worker ends
//
// A worker ends by itself, or is killed: because it sends heartbeats and was silent, closed its output, wrote an unreadable
// answer, did not answer a cancel, or exceeded one of Config.Limits. It is replaced after a pause that grows, with jitter, from
// 100 ms to Config.PauseMost. Its earlier answers count. Each other attempt ends with a worker.DiedError, so that the engine
// delivers it again, a bounded number of times, counted in the store. With a Config.MaxDeliveries the pool does so itself,
// before waiting attempts, and fails the attempt with WorkerDied at the bound. It is unknown which attempt killed the worker,
// so an attempt's last delivery is alone in its worker (the fifth, if the engine counts). If a worker is killed because one
// attempt did not answer a cancel, that does not count for the others, which the pool delivers again.
//
// A worker that says bye finishes its attempts, and is replaced at once. If a worker's start fails Config.Starts times in a
// row, the pool stops starting it. When that is true of all, attempts fail with StartError, and one of them in each
// Config.PauseMost triggers another start.
package pool
