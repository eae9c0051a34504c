// Package backendtest is the one conformance suite of backend.Backend. Every backend runs it in its
// own tests:
//
//	func TestConformance(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T, opts backendtest.Options) backendtest.Store {
//			b := memory.New(memory.Options{Shards: opts.Shards})
//			return backendtest.Store{Backend: b, Reopen: ..., Leftovers: b.Leftovers}
//		})
//	}
//
// The suite only uses the contract. It has two halves. The first takes one promise of the contract at
// a time. The second runs whole workflows through Drive, a small engine that claims, runs the actions
// of this package and completes, in many hands and in a shuffled order, and notes every answer; then
// Recording.Check holds the notes against the numbered invariants and the result against the one that
// a sequential run would have given.
//
// A store's clock may be moved by the test (Store.Advance) or run by itself; in the second case the
// suite uses short leases and waits by asking again until a deadline.
package backendtest
