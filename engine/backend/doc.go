// Package backend is the contract between the engine and the designs that store its work.
//
// # Protocol
//
// An engine submits instances, claims or is handed node runs under leases, runs their actions, and offers
// completions; the backend decides, atomically and through package plan, what each changes, and answers
// for each one: applied, stale, refused, or to be offered again. A lease carries a fencing token, greater
// than all before it for its run, and only the completion with the current token is applied (I3). What a
// commit made ready comes back leased, as far as the engine asked (D3); everything else waits to be
// claimed, and so does what was leased when its lease is over.
//
// An error of a call means that nothing of it happened, except for [ErrUnknown], after which the same call
// may be made again. Nothing that is answered as applied is lost, on a backend that is durable at all.
//
// The suite in package backendtest holds every backend against this contract.
package backend
