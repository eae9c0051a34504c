// Package worker runs the actions of workflows.
//
// An Executor is given a leased task and returns a result or a failure; it never loses one. The
// one here, Registry, runs Go functions in the engine's process. Register gives a function its
// name, as in its example. Registry.Register is for functions that take their arguments as they come.
//
// A task may be delivered more than once: after a crash, or when its lease was lost. What an action
// does to the world should therefore be guarded by Call.Key, which is the same for every delivery of
// one node run.
//
// # How an action ends
//
// What a function returns becomes JSON. Ints stay ints, of any size, and floats stay floats, unless
// they are inside a struct, which encoding/json writes. How it fails decides the type that retry and
// except see:
//
//	an *Error, wrapped or not         its Type and Message
//	any other error                   Error
//	a panic                           Panic; the engine goes on
//	its node's timeout passed         Timeout, whatever it returned
//	the name is not registered        UnknownAction
//	arguments that do not fit         ArgumentError
//	a result that is not JSON         ResultError
//	a result beyond the value limit   LimitExceeded
//	a *DiedError, wrapped or not      it does not: the attempt is delivered again, and fails with
//	                                  WorkerDied after the engine's Config.MaxDeliveries
//
// A function must return soon after its context ends, which it does at the node's timeout, when the
// lease is lost, when its instance has ended, and when the engine stops. Nothing in Go can end it from
// outside: the engine gives up one that does not return, lets its timeout count even so, and takes its slot
// back as far as its Config.Grace says. It goes on in its goroutine, and what it returns is dropped.
//
// # Arguments
//
// Builtins gives the actions that come with the program. They state their arguments, and are called
// only with exactly these.
package worker
