// Package jobserver is an in-memory job server for tests: it speaks both dialects of package httpjob, and injects faults.
//
// A [Server] is an http.Handler. Its jobs do what Config.Behave returns, and end by the clock, without a goroutine. It counts
// the starts of each key, for tests of exactly-once.
//
// [Faults] are probabilities. The seed, a request's subject, and the number of requests about it determine its fate, not the
// order of requests about different jobs. Only a lost reply, a slow one and an error after the work let a request have an
// effect.
package jobserver
