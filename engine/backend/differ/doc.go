// Package differ compares a backend with the reference interpreter: it runs one [Case], a program with an input and a schedule,
// on a [Store], and reports how the run differs from running the text line by line.
//
// # What is run
//
// The program's text is parsed and compiled as usual, and one instance of it runs to its end through the backend's contract. The
// [Schedule] determines the faults: completions in any order and in batches of any size, offered twice, dropped with their lease,
// and, if the store supports that, a crash at any step of a call. Everything follows from the schedule's seed, so a case can be
// repeated.
//
// # What is compared
//
// The result, or the failure with its type, message, action and position. The action, path and arguments of every node run, as a
// multiset. If several failures have no order, each outcome of reference.Interpreter.Possible is right. The oracles of package
// oracle check the history, as far as it is visible from outside the store. Enqueues, counters and list elements are not. But a
// node run that is enqueued twice is handed out twice (I1), and a wrong counter or list shows in what starts when (I5), and in
// arguments and results (I4, I7).
//
// # Repeating a failure
//
// A case is saved with everything that it needs. [Load] and [Run] repeat it even if the generator has changed since. The cases of
// fixed bugs are kept and run with the tests.
package differ
