// Package backendtest is the conformance suite of backend.Backend. Every backend runs it in its own tests:
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
//			b := memory.New(memory.Options{Shards: opts.Shards})
//			return backendtest.Store{Backend: b, Reopen: ..., Leftovers: b.Leftovers}
//		})
//	}
//
// The suite only uses the contract. Its first half checks one promise of the contract at a time. The second half runs whole
// workflows through Drive, a small engine that claims, runs the actions of this package and completes, with many workers and in
// random order. Recording.Check compares the recorded answers with the numbered invariants, and the result with that of a
// sequential run.
//
// A test may move the store's clock (Store.Advance). Otherwise the suite uses short leases and polls until a deadline.
package backendtest
