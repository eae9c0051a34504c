// Package jobserver is a server of jobs in memory, for tests: it speaks both dialects of package httpjob, and does what goes wrong
// with servers.
//
// A [Server] is an http.Handler. Its jobs do what Config.Behave says, and end by the clock, without a goroutine. It counts how
// often each key was started, which is what tests of exactly-once want to know.
//
// Faults come by [Faults], each with its probability. What happens to a request is drawn from the seed, what the request is
// about, and how many requests there were about that: it does not depend on the order in which requests about different jobs
// arrive. No fault but a lost reply, a slow one and an error after the work lets a request do anything.
package jobserver
