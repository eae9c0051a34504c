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
// An attempt whose holder dies is leased again and again. The store counts how often, with the lease, and tells it with the task
// (Task.Deliveries), so that whoever gets it can end what kills everybody who runs it. The count begins anew with each attempt, and outlives
// engines and the store's own end. A lease that is renewed counts once; one that is returned in order does not
// count, nor does one that the store knows to have reached nobody.
//
// A sleep is a node run without an action: it is handed out like any other once its time has come, and not
// before, and completed at once. What a loop's round leaves goes with the commit that ends it; what an error
// that is caught leaves at work is cancelled, as are all runs of an instance that is canceled: what is queued
// is never handed out, and what is leased is fenced.
//
// An error of a call means that nothing of it happened, except for [ErrUnknown], after which the same call
// may be made again. Nothing that is answered as applied is lost, on a backend that is durable at all.
//
// The suite in package backendtest holds every backend against this contract.
package backend
