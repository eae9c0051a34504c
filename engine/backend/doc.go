// Package backend is the contract between the engine and the designs that store its work.
//
// # Protocol
//
// An engine submits instances, leases node runs, runs their actions, and offers completions. The backend decides atomically,
// through package plan, what each changes, and answers: applied, stale, refused, or again. A lease has a fencing token, greater
// than all before it for its node run, and only a completion with the current token is applied (I3). A commit leases what it made
// ready to the engine, as far as the engine asked (D3). The rest waits to be claimed, as do node runs whose lease has expired.
//
// An attempt whose holder dies is redelivered. The store counts the deliveries (Task.Deliveries), so that an engine can end an
// attempt that kills every holder. The count starts again with each attempt, and survives engines and the store's crashes. A
// renewed lease counts once. A returned lease does not count, nor does one that the store knows to have reached no holder.
//
// A sleep is a node run without an action: it is handed out when it is due, and completed at once. The commit that ends a round
// of a loop also removes what the round left. A caught failure cancels the other branches, and cancelling an instance cancels all
// its node runs: queued ones are never handed out, and leased ones are fenced.
//
// If a call fails, nothing of it was applied, except with [ErrUnknown]; then the same call may be repeated. What was answered as
// applied is never lost, if the backend is durable.
//
// The suite in package backendtest checks every backend against this contract.
package backend
