// Package sim runs the engine's own deciding code in a seeded world of its own, in virtual time.
//
// A world has a clock that jumps from event to event, one generator of random numbers, some engines
// and one store. Each engine is a real dispatch.Machine; the store is the real in-memory backend, on
// the world's clock; and that plans with the real core. Only what surrounds them is made up: how long
// an action and a call of the store take, when instances arrive, which engine dies and when. An
// hour of waiting costs nothing, and what happened once happens again.
//
// # The protocol
//
// Everything is an event with a time:
//
//	arrive    a client hands an instance to an engine
//	tick      a machine's own deadline (Machine.Next)
//	apply     a call reaches the store, which carries it out whole, at some moment within its latency
//	reply     the answer to the call reaches the engine
//	done      an action's service time is over, or the action was cancelled
//	woken     another engine's notification arrives
//	restart   an engine that crashed is back, as a new one
//	cancel    a client has an instance ended, behind the engines' backs
//
// The world takes the earliest event, moves the clock there, tells the machine that it is for, and
// turns the machine's commands into later events. Events of the same moment come in an order that
// the generator chooses, and the machine is told of those for it one by one or several together:
// both can happen to the engine's real loop. Nothing waits, sleeps or reads a clock, and there is no
// goroutine.
//
// A call is decided when it is applied, not when it is sent, so two engines can race for a lease; and
// the engine does not know the outcome before the reply. A Crash takes the engine between any two of
// its events: its tasks and answers are gone, and a call that was on its way reaches the store or does
// not. A Freeze delays all that comes to the engine, as a stopped process is; the store goes on, and
// leases run out. A client that has no answer hands its submission in again, under the same id.
//
// # What is held against it
//
// Beside the store, the world keeps a model of each instance (package model): the plainest thing that obeys a
// plan, on maps, without shards, leases, batches or transactions. It is told of every completion that the store says to have
// applied, and knows from it what must be ready by now. A lease of a run that was never ready, that is not
// due or that was cancelled, a run that is ready twice, a counter that overflows, an end that differs: each is a line in
// Result.Violations. So are a result that is not the workload's expected one, an instance that ends
// twice, and whatever the store's own Check finds. With Config.Record the run is also an oracle.History
// whose lines stand in the order of the commits; Result.Judge holds it against the oracles and, where the
// workload has a source, against the reference interpreter.
//
// A run that does not end is an error of Run: the bound on its events is reached, and the error says
// what was left, when, and with which seed.
//
// # Repeating a run
//
// Every event is written as a line of text, and Result.Hash is the SHA-256 of the lines. The same
// seed and configuration give the same lines (I13), as long as the functions that Config holds depend
// on their arguments only. Two runs that differ are compared by having both written to Config.Trace.
//
// # Large graphs
//
// Config.Jobs are a workflow whose readiness is counted in arrays, in the place of the core and the in-memory store. The
// engines stay the real machines, and the schedule is the same, line by line, as that of the core for the same trace,
// which a test shows. A million jobs need about ten seconds and less than a gigabyte.
//
// # Bounds
//
// For a workflow whose tasks and times are known beforehand, Bound gives what no schedule can beat
// and what no greedy schedule can exceed. A simulation without latencies must lie between.
package sim
