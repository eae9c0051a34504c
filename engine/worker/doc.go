// Package worker runs the actions of workflows.
//
// An Executor receives a leased task and returns a result or a failure; it never loses one. This package's, Registry, runs Go
// functions in the engine's process. Register gives a function its name, as in its example. Registry.Register is for functions
// that take undecoded arguments.
//
// A task may be delivered more than once: after a crash, or when its lease was lost. An action should therefore guard its
// effects by Call.Key, which is the same for every delivery of a node run.
//
// # How an action ends
//
// A function's return value becomes JSON. Ints stay ints, of any size, and floats stay floats, unless they are inside a struct,
// which encoding/json writes. The failure type that retry and except see is:
//
//	an *Error, wrapped or not         its Type and Message
//	any other error                   Error
//	a panic                           Panic; the engine continues
//	its node's timeout passed         Timeout, whatever it returned
//	the name is not registered        UnknownAction
//	arguments that do not fit         ArgumentError
//	a result that is not JSON         ResultError
//	a result beyond the value limit   LimitExceeded
//	a *DiedError, wrapped or not      none: the attempt is delivered again, and fails with
//	                                  WorkerDied after the engine's Config.MaxDeliveries
//
// A function must return soon after its context ends, which happens at the node's timeout, when the lease is lost, when its
// instance has ended, and when the engine stops. Go cannot end it from outside. If it does not return, the engine abandons it,
// applies its timeout nevertheless, and reclaims its slot as far as Config.Grace allows. The function's goroutine continues,
// and its result is dropped.
//
// # Arguments
//
// Builtins declare their arguments, and are called only with exactly these.
package worker
