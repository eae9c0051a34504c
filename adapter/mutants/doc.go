// Package mutants has bugs to be planted in the reference adapter examples/adapters/queue.py, one at a time, so that whatever
// judges systems can show that it finds them. A judgement that has never found anything may be unable to.
//
// A mutant is data: passages of the adapter and their replacements. Each passage stands in the adapter exactly once, which a test
// checks: so a mutant cannot outlive its code. The adapter itself has no switches for this.
//
// Without faults a mutated adapter does what the adapter does. So these are bugs that ordinary tests of a system do not find.
package mutants
