// Package plan is the core: it decides what an event changes, and does nothing itself. No I/O, no
// goroutine, no clock, no randomness; the same event with the same inbox gives the same plan.
//
// # Protocol
//
// A backend takes an [Event], asks the program for its [Needs], reads those from the instance's inbox
// in one go, and calls [Program.Step]. Out comes a [Plan], which it commits whole or not at all:
//
//  1. the event's task is still the current one (its token guards the rest);
//  2. values that something downstream will read are written to slots, or appended to the lists that
//     stand there, and the values of branches go to the inboxes of their aggregates;
//  3. barriers whose count became known are opened, and arrivals are counted;
//  4. node runs that became ready are enqueued with their arguments, and sleeps with their time;
//  5. what follows at once is stepped as events of its own, all [Event].Fired: runs that the plan
//     resumes, and what the counts have reached ([Program.BarrierEvents]);
//  6. at the end what is over is cleared: a loop's round when the next begins, or the branches beside
//     one whose error was caught;
//  7. or the run is to be retried; or the instance ends.
//
// All plans that follow from one event are committed together: no state in which a barrier is open and
// nobody knows is ever durable. [Program.Start] plans the beginning.
//
// # How it decides
//
// From the node that ended, the traversal runs inline nodes in memory, in order of arrival, and stops
// at the frontier: actions, sleeps, aggregates, the output, and whatever can be reached more than once
// before it runs. Only values that are live at that frontier are written (D12). A node that needs no
// counter is enqueued with its arguments evaluated; one that does is evaluated when its barrier opens.
//
// An action that has failed for good follows its first exception edge whose types name the error; without
// one it ends the instance. What fails in an expression always does.
//
// # What grows is not read
//
// xs = xs + [e] in a loop appends: what must be known of the list for that, its length, its size and
// that it is one, stands in a variable beside it. A traversal that comes to a node which reads the list
// stops before it and is resumed with the list read. What a loop over a list goes over is kept in
// chunks of sixteen elements, of which an event reads one. So every round of a loop reads and writes as
// much as the one before.
package plan
