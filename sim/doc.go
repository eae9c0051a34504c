// Package sim runs the engine's real decision code in a seeded world, in virtual time.
//
// A world has a clock that jumps from event to event, one random generator, engines and one store. Each engine is a real
// dispatch.Machine. The store is the real in-memory backend on the world's clock; it plans with the real core. Only the
// surroundings are simulated: how long actions and store calls take, when instances arrive, which engine crashes and when. An
// hour of waiting costs nothing, and every run can be repeated.
//
// # The protocol
//
// Everything is an event with a time:
//
//	arrive    a client hands an instance to an engine
//	tick      a machine's deadline (Machine.Next)
//	apply     a call reaches the store, which executes it at once, at some moment within its latency
//	reply     the answer to the call reaches the engine
//	done      an action's service time is over, or the action was cancelled
//	woken     another engine's notification arrives
//	restart   an engine that crashed is back, as a new one
//	cancel    a client cancels an instance in the store
//
// The world takes the earliest event, sets the clock, passes the event to its machine and turns the machine's commands into later
// events. The generator orders events of the same moment. The machine receives them singly or together, because both can happen
// to the engine's real loop. Nothing blocks or reads a real clock, and there are no goroutines.
//
// The store decides a call when it is applied, not when it is sent, so two engines can race for a lease. The engine learns the
// outcome from the reply. A Crash stops the engine between any two of its events: its tasks and answers are lost, and a call in
// flight may or may not reach the store. A Freeze delays all events of the engine, like a paused process; the store continues,
// and leases expire. A client without an answer submits again, under the same id.
//
// # What is checked
//
// Next to the store, the world keeps a model of each instance (package model), which applies plans on maps, without shards,
// leases, batches or transactions. It receives every completion that the store has applied, and so knows what must be ready. Each
// of these is a line in Result.Violations: a lease of a node run that was never ready, is not due or was cancelled; a node run
// that is ready twice; a counter that overflows; an end that differs. So are a result that the workload does not expect, an
// instance that ends twice, and whatever the store's own Check finds. With Config.Record the run is also an oracle.History in
// commit order; Result.Judge checks it with the oracles and, if the workload has a source, with the reference interpreter.
//
// If a run does not end, Run reaches its bound on events and returns an error that says what was left, when, and with which seed.
//
// # Repeating a run
//
// Every event is a line of text, and Result.Hash is the SHA-256 of the lines. The same seed and configuration give the same lines
// (I13), if the functions in Config depend only on their arguments. To compare two runs, write both to Config.Trace.
//
// # Large graphs
//
// Config.Jobs is a workflow whose readiness is counted in arrays instead of by the core and the in-memory store. The engines stay
// the real machines. A test shows that the schedule is the core's, line by line. A million jobs need about ten seconds and less
// than a gigabyte.
//
// # Bounds
//
// If a workflow's tasks and times are known beforehand, Bound computes what no schedule can beat and what no greedy schedule can
// exceed. A simulation without latencies lies between.
package sim
