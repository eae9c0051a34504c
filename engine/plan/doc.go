// Package plan is the core: it decides what an event changes, and does nothing itself. It has no I/O, goroutine, clock or
// randomness; the same event with the same inbox gives the same plan.
//
// # Protocol
//
// A backend takes an [Event], asks the program for its [Needs], reads those from the instance's inbox at once, and calls
// [Program.Step]. The result is a [Plan], which it commits whole or not at all:
//
//  1. the event's task is still the current one (its token guards the rest);
//  2. values that something downstream will read are written to slots, or appended to lists there, and the values of branches
//     go to the inboxes of their aggregates;
//  3. barriers whose count became known are opened, and arrivals are counted;
//  4. ready node runs are enqueued with their arguments, and sleeps with their time;
//  5. continuations are stepped as events of their own, all [Event].Fired: runs that the plan resumes, and what the counts have
//     reached ([Program.BarrierEvents]);
//  6. finally, what is over is cleared: a loop's round when the next begins, or the branches cancelled by a caught failure;
//  7. or the run is to be retried; or the instance ends.
//
// All plans that follow from one event are committed together: no durable state has an open barrier whose event is not planned.
// [Program.Start] plans the start.
//
// # How it decides
//
// From the node that ended, the traversal executes inline nodes in memory, in order of arrival. It stops at the frontier:
// actions, sleeps, aggregates, the output, and every node that can be reached more than once before it runs. Only values that
// are live at the frontier are written (D12). A node without a counter is enqueued with its arguments evaluated; one with a
// counter is evaluated when its barrier opens.
//
// An action that has finally failed follows its first exception edge whose types match; without one the instance fails. A
// failing expression always makes the instance fail.
//
// # What grows is not read
//
// xs = xs + [e] in a loop appends. What this needs of the list (its length, its size, and that it is one) is in a variable of
// its own. A traversal stops before a node that reads the list, and is resumed with the list read. The elements of a loop over
// a list are kept in chunks of sixteen, and an event reads one chunk. So every round of a loop reads and writes as much as the
// one before.
package plan
