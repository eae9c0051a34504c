// Package plan is the core: it decides what an event changes, and does nothing itself. No I/O, no
// goroutine, no clock, no randomness; the same event with the same inbox gives the same plan.
//
// # Protocol
//
// A backend takes an [Event], asks the program for its [Needs], reads those from the instance's inbox
// in one go, and calls [Program.Step]. Out comes a [Plan], which it commits whole or not at all:
//
//  1. the event's task is still the current one (its token guards the rest);
//  2. values that something downstream will read are written to slots, and the values of branches
//     to the inboxes of their aggregates;
//  3. barriers whose count became known are opened, and arrivals are counted;
//  4. node runs that became ready are enqueued with their arguments;
//  5. or the run is to be retried; or the instance ends.
//
// When an arrival makes a barrier's count equal to what it requires, the backend makes an event that
// says so ([Event].Fired), steps again, and commits both plans together: no state in which a barrier
// is open and nobody knows is ever durable. [Program.Start] plans the beginning.
//
// # How it decides
//
// From the node that ended, the traversal runs inline nodes in memory, in order of arrival, and stops
// at the frontier: actions, aggregates, the output, and whatever can be reached more than once before
// it runs. Only values that are live at that frontier are written (D12). A node that needs no counter
// is enqueued with its arguments evaluated; one that does is evaluated when its barrier opens.
package plan
